"""Reading speed of the load generator's client, compared with a C client that only reads and with httpx, in one run.

`python -m benchmarks.client_ceiling [SECONDS]`. A stub server in a process of its own sends one event of 230 bytes at a
time to 1, 64 and 256 streams, paced like a real server, with a time stamp in each. Printed are the CPU seconds of the
client's process and the delay from the stamp to the read, p50 and p99. The stub generates no tokens.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from analysis.evidence.measure import quantile
from demo.presets import free_ports
from machine.cpu_wait import cpu_wait
from workloads.requests.answer_stream import StreamReading
from workloads.requests.sending import PostCall, open_session, read_stream

PACES: Mapping[int, float] = {1: 200.0, 64: 30.0, 256: 8.0}  # streams -> events a second of each
SECONDS = 8.0
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "stand-in"}


class Reading(NamedTuple):
    """Result of one client: delays in microseconds."""

    events: int
    cpu_s: float
    p50_us: float
    p99_us: float


class StampedReading(StreamReading):
    """The product's reader, which also records when each event was sent."""

    __slots__ = ("delays_us",)

    def __init__(self) -> None:
        super().__init__()
        self.delays_us: list[float] = []

    def take_line(self, line: str, now_s: float) -> bool:
        at = line.find('"t": ')
        if at > 0:
            self.delays_us.append((now_s * 1e9 - int(line[at + 5 : line.index(",", at)])) / 1e3)
        return super().take_line(line, now_s)


def event(number: int) -> bytes:
    fields = {"t": time.monotonic_ns(), **BODY, "choices": [{"index": 0, "delta": {"content": " word"}}]}
    fields["usage"] = {"prompt_tokens": 9, "completion_tokens": number}
    data = b"data: " + json.dumps(fields).encode() + b"\n\n"
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, rate: float, seconds: float) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    await reader.readexactly(int(length.partition(b":")[2]))
    writer.write(HEAD)
    began_s = asyncio.get_running_loop().time()
    for number in range(1, int(rate * seconds) + 1):
        await asyncio.sleep(max(0.0, began_s + number / rate - asyncio.get_running_loop().time()))
        writer.write(event(number))
    last_events = b'data: {"choices":[{"delta":{},"finish_reason":"length"}]}\n\ndata: [DONE]\n\n'
    writer.write(f"{len(last_events):x}\r\n".encode() + last_events + b"\r\n0\r\n\r\n")
    await writer.drain()
    writer.close()


def serve(port: int, rate: float, seconds: float) -> None:
    async def run() -> None:
        server = await asyncio.start_server(
            lambda reader, writer: answer(reader, writer, rate, seconds), "127.0.0.1", port, backlog=1024
        )
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def serving(rate: float, seconds: float) -> Iterator[int]:
    port = free_ports(1)[0]
    process = multiprocessing.Process(target=serve, args=(port, rate, seconds), daemon=True)
    process.start()
    time.sleep(1.0)
    try:
        yield port
    finally:
        process.terminate()
        process.join()


async def read_ours(port: int, streams: int) -> Reading:
    readings = [StampedReading() for _ in range(streams)]
    url, began_s = f"http://127.0.0.1:{port}/v1/chat/completions", time.process_time()
    async with open_session() as session:
        with cpu_wait() as waited_s:
            calls = [PostCall(url, {}, {}, reading, 60.0, time.monotonic, waited_s) for reading in readings]
            await asyncio.gather(*(read_stream(session, call) for call in calls))
    used_s = time.process_time() - began_s
    delays = [delay for reading in readings for delay in reading.delays_us]
    return Reading(len(delays), used_s, quantile(delays, 0.5), quantile(delays, 0.99))


async def read_with_httpx(port: int, streams: int) -> Reading:
    """Read the same streams with httpx, for comparison."""
    readings = [StampedReading() for _ in range(streams)]
    began_s = time.process_time()
    limits = httpx.Limits(max_keepalive_connections=0, max_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=None, trust_env=False) as client:

        async def read(reading: StampedReading) -> None:
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            async with client.stream("POST", url, json={}) as response:
                async for line in response.aiter_lines():
                    reading.take_line(line, time.monotonic())

        await asyncio.gather(*map(read, readings))
    used_s = time.process_time() - began_s
    delays = [delay for measured in readings for delay in measured.delays_us]
    return Reading(len(delays), used_s, quantile(delays, 0.5), quantile(delays, 0.99))


def read_in_c(binary: Path, port: int, streams: int) -> Reading:
    output = subprocess.run([str(binary), str(port), str(streams)], capture_output=True, text=True, check=True).stdout
    events, cpu_s, p50_us, p99_us = output.split()
    return Reading(int(events), float(cpu_s), float(p50_us), float(p99_us))


def row(name: str, streams: int, reading: Reading) -> str:
    per_event = reading.cpu_s / reading.events * 1e6
    rate = reading.events / reading.cpu_s
    delays = f"{reading.p50_us:.0f} | {reading.p99_us:.0f}"
    return f"| {streams} | {name} | {reading.events:,} | {per_event:.1f} | {rate:,.0f} | {delays} |"


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    compiler = shutil.which("cc") or sys.exit("a C compiler is needed")
    print("| streams | client | events | CPU us an event | events a CPU-second | delay p50, us | p99, us |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "read_stream"
        subprocess.run([compiler, "-O2", "-o", str(binary), str(Path(__file__).with_name("read_stream.c"))], check=True)
        for streams, rate in PACES.items():
            with serving(rate, seconds) as port:
                print(row("C, reads only", streams, read_in_c(binary, port, streams)), flush=True)
                print(row("httpx", streams, asyncio.run(read_with_httpx(port, streams))), flush=True)
                print(row("Pitwall's", streams, asyncio.run(read_ours(port, streams))), flush=True)


if __name__ == "__main__":
    main()
