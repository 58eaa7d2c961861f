"""Overhead of the recorder: the same stream directly, through it and through a bare loop that copies bytes, in turn.

`python -m benchmarks.recorder_overhead [REQUESTS] [short|agent] [kept] [without-parts]`. The client opens a connection
for each request or, with 'kept', keeps one open to each server, as agents do. A 'short' request has 200 words, an
'agent' sends 30 tools and a chat of 80 messages, 220 kB, which grows by two messages with each request;
'without-parts' leaves out the description of prompts, to see what it adds. A stub server in a process of its own
answers with 50 events, 5 ms apart, each with a time stamp; the recorder and the bare loop are processes of their own
too. Printed are the time to the first event, the delay of an event from its stamp to the client, the CPU time of both
processes per request, and how much later the first event comes. The stub generates no tokens. A pause after each
request lets the recorder finish writing it. The bare loop, asyncio without HTTP, is what forwarding costs in Python.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import aiohttp
import psutil
import uvloop

from analysis.evidence.measure import quantile
from demo.presets import free_ports
from machine.ports import is_port_free
from workloads.recording.prompt_history import PromptHistory
from workloads.recording.recorder_job import RecorderOptions
from workloads.recording.serve import Recording, record
from workloads.requests.sending import open_session

EVENTS, PACE_S = 50, 0.005
PAUSE_S = 0.1
WARM_UP = 2  # requests that are not counted
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SHORT, AGENT, KEPT = "short", "agent", "kept"
ROUNDS = ("directly", "through the recorder", "through the bare loop")


class RequestTiming(NamedTuple):
    """Timing of one request as its client saw it, in milliseconds."""

    first_ms: float
    delays_ms: list[float]


def event(text: str, finish: str | None = None) -> bytes:
    fields = {"t": time.monotonic(), "choices": [{"delta": {"content": text}, "finish_reason": finish}]}
    data = b"data: " + json.dumps(fields).encode() + b"\n\n"
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def head_of(reader: asyncio.StreamReader) -> bytes:
    """Read the request's head; empty if the client is gone."""
    with suppress(asyncio.IncompleteReadError, ConnectionResetError):
        return await reader.readuntil(b"\r\n\r\n")
    return b""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests, keeping the connection open as usual servers do."""
    while head := await head_of(reader):
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        writer.write(HEAD)
        for number in range(EVENTS):
            writer.write(event(" word", "stop" if number == EVENTS - 1 else None))
            await writer.drain()
            await asyncio.sleep(PACE_S)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        if b"connection: close" in head.lower():
            break
    writer.close()


def stub(port: int) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(serve())


class CopiedConnection(asyncio.Protocol):
    """One end of a connection whose bytes are copied to the other end."""

    def __init__(self, upstream: int | None, other: asyncio.Transport | None = None) -> None:
        self.upstream, self.other, self.early = upstream, other, bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self.upstream:
            self.opening = asyncio.create_task(self.open_other(self.upstream))

    async def open_other(self, upstream: int) -> None:
        loop = asyncio.get_running_loop()
        self.other, _ = await loop.create_connection(
            lambda: CopiedConnection(None, self.transport), "127.0.0.1", upstream
        )
        self.other.write(bytes(self.early))

    def data_received(self, data: bytes) -> None:
        if self.other:
            self.other.write(data)
        else:
            self.early += data

    def connection_lost(self, _: Exception | None) -> None:
        if self.other:
            self.other.close()


def bare_loop(upstream: int, port: int) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: CopiedConnection(upstream), "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(serve())


def recorder(upstream: int, port: int, folder: Path) -> None:
    output_path = folder / "said"
    out = folder / "workload" / "requests.jsonl"
    url = f"http://127.0.0.1:{upstream}"
    uvloop.run(record(Recording("r", url, out, RecorderOptions(), port), None, lambda text: _write(output_path, text)))


def recorder_without_parts(upstream: int, port: int, folder: Path) -> None:
    """Run the recorder of this process without describing prompts."""
    PromptHistory.describe = lambda *_: {}  # type: ignore[method-assign]
    recorder(upstream, port, folder)


def _write(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


@contextmanager
def running(work: Callable[..., None], *arguments: object) -> Iterator[psutil.Process]:
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.join()


def body_of(kind: str, number: int) -> bytes:
    """Return the body of a request: of the same short one, or of an agent's turn with this number."""
    if kind == SHORT:
        messages = [{"role": "user", "content": "word " * 200}]
        return json.dumps({"model": "m", "messages": messages, "stream": True}).encode()
    tools = [
        {"type": "function", "function": {"name": f"tool{n}", "description": "does " * 300, "parameters": {}}}
        for n in range(30)
    ]
    messages = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"message {n} " * 200}
        for n in range(80 + 2 * number)
    ]
    return json.dumps({"model": "m", "tools": tools, "messages": messages, "stream": True}).encode()


async def ask(session: aiohttp.ClientSession, url: str, token: str, body: bytes) -> RequestTiming:
    began_s = time.monotonic()
    delays: list[float] = []
    first_ms = 0.0
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    async with session.post(f"{url}/v1/chat/completions", data=body, headers=headers) as response:
        async for line in response.content:
            now_s = time.monotonic()
            if line.startswith(b"data: "):
                first_ms = first_ms or (now_s - began_s) * 1000
                delays.append((now_s - json.loads(line[6:])["t"]) * 1000)
    return RequestTiming(first_ms, delays)


async def measure(
    urls: Sequence[str], token: str, requests: int, kind: str, is_kept: bool
) -> list[list[RequestTiming]]:
    """Measure all in turn, so that other load on the machine affects all."""
    sightings: list[list[RequestTiming]] = [[] for _ in urls]
    async with aiohttp.ClientSession() if is_kept else open_session() as session:
        for number in range(requests + WARM_UP):
            body = body_of(kind, number)
            for index, url in enumerate(urls):
                sighting = await ask(session, url, token, body)
                await asyncio.sleep(PAUSE_S)
                if number >= WARM_UP:
                    sightings[index].append(sighting)
    return sightings


def cpu_s(process: psutil.Process) -> float:
    """Return the CPU time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def row(name: str, sightings: list[RequestTiming]) -> str:
    first, delays = (
        [sighting.first_ms for sighting in sightings],
        [delay for sighting in sightings for delay in sighting.delays_ms],
    )
    cells = [quantile(values, share) for values in (first, delays) for share in (0.1, 0.5, 0.99)]
    return f"| {name} | {len(sightings)} | " + " | ".join(f"{value:.2f}" for value in cells) + " |"


def main(requests: int, kind: str, is_kept: bool, work: Callable[..., None]) -> None:
    upstream, port, bare_port = ports = free_ports(3)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(stub, upstream),
        running(bare_loop, upstream, bare_port) as bare_process,
        running(work, upstream, port, Path(folder)) as recorder_process,
    ):
        output_path = Path(folder) / "said"
        while not output_path.exists() or is_port_free(upstream) or is_port_free(bare_port):
            time.sleep(0.05)
        token = output_path.read_text().split("once: ")[1].split()[0]
        processes = (recorder_process, bare_process)
        before_s = [cpu_s(process) for process in processes]
        urls = [f"http://127.0.0.1:{place}" for place in ports]
        sightings = asyncio.run(measure(urls, token, requests, kind, is_kept))
        used_s = [cpu_s(process) - before for process, before in zip(processes, before_s, strict=True)]
    print("| | requests | first event p10, ms | p50 | p99 | delay of an event p10, ms | p50 | p99 |")
    print("|---|---|---|---|---|---|---|---|")
    for name, group in zip(ROUNDS, sightings, strict=True):
        print(row(name, group))
    for name, group, cpu in zip(ROUNDS[1:], sightings[1:], used_s, strict=True):
        later = [through.first_ms - directly.first_ms for directly, through in zip(sightings[0], group, strict=True)]
        per_request_ms = cpu * 1000 / (requests + WARM_UP)
        print(
            f"\nThe first event {name}, against that of the request of the same round directly: "
            f"{quantile(later, 0.5):+.2f} ms at p50; {per_request_ms:.1f} ms of CPU per request."
        )


if __name__ == "__main__":
    words = sys.argv[1:]
    recorder_work = recorder_without_parts if "without-parts" in words else recorder
    main(int(words[0]) if words else 100, AGENT if AGENT in words else SHORT, KEPT in words, recorder_work)
