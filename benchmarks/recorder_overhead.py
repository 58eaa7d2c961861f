"""Overhead of the recorder: the same stream directly and through it, one after the other, in one run.

`python -m benchmarks.recorder_overhead [REQUESTS] [short|agent] [without-parts]`. A 'short' request has 200 words, an
'agent' sends 30 tools and a chat of 80 messages, 220 kB, which grows by two messages with each request;
'without-parts' leaves out the description of prompts, to see what it adds. A stub server in a process of its own
answers with 50 events, 5 ms apart, each with a time stamp; the recorder is a process of its own too. Printed are the
time to the first event, the delay of an event from its stamp to the client, and both without the recorder. The stub
generates no tokens. A pause after each request lets the recorder finish writing it.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import aiohttp

from analysis.evidence.measure import quantile
from demo.presets import free_ports
from machine.ports import is_port_free
from workloads.recording.prompt_history import PromptHistory
from workloads.recording.recorder_job import RecorderOptions
from workloads.recording.serve import Recording, record
from workloads.requests.sending import open_session

EVENTS, PACE_S = 50, 0.005
PAUSE_S = 0.1
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
SHORT, AGENT = "short", "agent"
ROUNDS = ("directly", "through the recorder")


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


def recorder(upstream: int, port: int, folder: Path) -> None:
    output_path = folder / "said"
    out = folder / "workload" / "requests.jsonl"
    url = f"http://127.0.0.1:{upstream}"
    asyncio.run(record(Recording("r", url, out, RecorderOptions(), port), None, lambda text: _write(output_path, text)))


def recorder_without_parts(upstream: int, port: int, folder: Path) -> None:
    """Run the recorder of this process without describing prompts."""
    PromptHistory.describe = lambda *_: {}  # type: ignore[method-assign]
    recorder(upstream, port, folder)


def _write(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


@contextmanager
def running(work: Callable[..., None], *arguments: object) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    try:
        yield
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
    urls: tuple[str, str], token: str, requests: int, kind: str
) -> tuple[list[RequestTiming], list[RequestTiming]]:
    """Measure both in turn, so that other load on the machine affects both."""
    sightings: tuple[list[RequestTiming], list[RequestTiming]] = ([], [])
    async with open_session() as session:
        for number in range(requests + 2):
            body = body_of(kind, number)
            for index, url in enumerate(urls):
                sighting = await ask(session, url, token, body)
                await asyncio.sleep(PAUSE_S)
                if number >= 2:  # the first ones warm up
                    sightings[index].append(sighting)
    return sightings


def row(name: str, sightings: list[RequestTiming]) -> str:
    first, delays = (
        [sighting.first_ms for sighting in sightings],
        [delay for sighting in sightings for delay in sighting.delays_ms],
    )
    cells = [quantile(values, share) for values in (first, delays) for share in (0.1, 0.5, 0.99)]
    return f"| {name} | {len(sightings)} | " + " | ".join(f"{value:.2f}" for value in cells) + " |"


def main(requests: int, kind: str, work: Callable[..., None]) -> None:
    upstream, port = free_ports(2)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(stub, upstream),
        running(work, upstream, port, Path(folder)),
    ):
        output_path = Path(folder) / "said"
        while not output_path.exists() or is_port_free(upstream):
            time.sleep(0.05)
        token = output_path.read_text().split("once: ")[1].split()[0]
        urls = (f"http://127.0.0.1:{upstream}", f"http://127.0.0.1:{port}")
        sightings = asyncio.run(measure(urls, token, requests, kind))
    print("| | requests | first event p10, ms | p50 | p99 | delay of an event p10, ms | p50 | p99 |")
    print("|---|---|---|---|---|---|---|---|")
    for name, group in zip(ROUNDS, sightings, strict=True):
        print(row(name, group))
    later = [through.first_ms - directly.first_ms for directly, through in zip(*sightings, strict=True)]
    print(
        f"\nThe first event through it, against that of the request just before: {quantile(later, 0.5):+.2f} ms at p50."
    )


if __name__ == "__main__":
    words = sys.argv[1:]
    recorder_work = recorder_without_parts if "without-parts" in words else recorder
    main(int(words[0]) if words else 100, AGENT if AGENT in words else SHORT, recorder_work)
