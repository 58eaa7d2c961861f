"""What the recorder adds to a request: the same stream directly and through it, one after the other, in one run.

`python -m benchmarks.recorder_overhead [REQUESTS]`. A stub server in a process of its own answers with 50 events, 5 ms
apart, each stamped with the clock; the recorder is a process of its own too. Told are the time to the first event, the
delay of an event from its stamp to the client, and both without the recorder. The stub is a stand-in: it makes no
tokens.
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
from workloads.recording.recorder_job import RecorderAsk
from workloads.recording.serve import Recording, record
from workloads.requests.sending import open_session

EVENTS, PACE_S = 50, 0.005
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ASK = {"model": "m", "messages": [{"role": "user", "content": "word " * 200}], "stream": True}
ROUNDS = ("directly", "through the recorder")


class Seen(NamedTuple):
    """What one client saw of its request, in milliseconds."""

    first_ms: float
    delays_ms: list[float]


def event(text: str, finish: str | None = None) -> bytes:
    said = {"t": time.monotonic(), "choices": [{"delta": {"content": text}, "finish_reason": finish}]}
    data = b"data: " + json.dumps(said).encode() + b"\n\n"
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def head_of(reader: asyncio.StreamReader) -> bytes:
    """Empty where the client has gone."""
    with suppress(asyncio.IncompleteReadError, ConnectionResetError):
        return await reader.readuntil(b"\r\n\r\n")
    return b""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """As usual servers do, it keeps the connection of a client that keeps it."""
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
    said = folder / "said"
    out = folder / "workload" / "requests.jsonl"
    url = f"http://127.0.0.1:{upstream}"
    asyncio.run(record(Recording("r", url, out, RecorderAsk(), port), None, lambda words: _write(said, words)))


def _write(path: Path, words: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(words)
    partial.replace(path)


@contextmanager
def running(work: Callable[..., None], *words: object) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=work, args=words)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


async def ask(session: aiohttp.ClientSession, url: str, token: str) -> Seen:
    began_s = time.monotonic()
    delays: list[float] = []
    first_ms = 0.0
    headers = {"Authorization": f"Bearer {token}"}
    async with session.post(f"{url}/v1/chat/completions", json=ASK, headers=headers) as response:
        async for line in response.content:
            now_s = time.monotonic()
            if line.startswith(b"data: "):
                first_ms = first_ms or (now_s - began_s) * 1000
                delays.append((now_s - json.loads(line[6:])["t"]) * 1000)
    return Seen(first_ms, delays)


async def measure(urls: tuple[str, str], token: str, requests: int) -> tuple[list[Seen], list[Seen]]:
    """In turn, so that what the machine does meanwhile hits both."""
    seen: tuple[list[Seen], list[Seen]] = ([], [])
    async with open_session() as session:
        for number in range(requests + 2):
            for place, url in enumerate(urls):
                one = await ask(session, url, token)
                if number >= 2:  # the first ones warm up
                    seen[place].append(one)
    return seen


def row(name: str, seen: list[Seen]) -> str:
    first, delays = [one.first_ms for one in seen], [delay for one in seen for delay in one.delays_ms]
    shown = [quantile(values, share) for values in (first, delays) for share in (0.1, 0.5, 0.99)]
    return f"| {name} | {len(seen)} | " + " | ".join(f"{value:.2f}" for value in shown) + " |"


def main(requests: int) -> None:
    upstream, port = free_ports(2)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(stub, upstream),
        running(recorder, upstream, port, Path(folder)),
    ):
        said = Path(folder) / "said"
        while not said.exists() or is_port_free(upstream):
            time.sleep(0.05)
        token = said.read_text().split("once: ")[1].split()[0]
        urls = (f"http://127.0.0.1:{upstream}", f"http://127.0.0.1:{port}")
        seen = asyncio.run(measure(urls, token, requests))
    print("| | requests | first event p10, ms | p50 | p99 | delay of an event p10, ms | p50 | p99 |")
    print("|---|---|---|---|---|---|---|---|")
    for name, ones in zip(ROUNDS, seen, strict=True):
        print(row(name, ones))
    later = [through.first_ms - directly.first_ms for directly, through in zip(*seen, strict=True)]
    print(
        f"\nThe first event through it, against that of the request just before: {quantile(later, 0.5):+.2f} ms at p50."
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
