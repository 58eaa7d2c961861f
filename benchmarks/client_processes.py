"""Cost and losses of a load spread over one, two and four client processes.

`python -m benchmarks.client_processes [SECONDS]`. A complete load generator, started as on the Run page, opens 256
streams to a stub server in a process of its own, which sends 60 events per second to each: more than one client process
can read without the load's own warning. Printed are the received events, the CPU seconds of all client processes from
the load's phase, and the answers' durations compared with the stub's pace. The stub generates no tokens.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from analysis.evidence.measure import quantile
from benchmarks.client_ceiling import answer
from demo.presets import free_ports
from load_records import LoadPhase, RequestRecord
from workloads.process.prepare import COMMAND_LINE
from workloads.requests.records import parse_line

STREAMS, EVENTS_S, SECONDS, PROCESSES = 256, 60.0, 10.0, (1, 2, 4)
MODELS = b'{"object": "list", "data": [{"id": "stand-in", "object": "model"}]}'
FOUND = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"


def serve(port: int, seconds: float) -> None:
    async def answer_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"POST"):
            body = asyncio.StreamReader()
            body.feed_data(head + await reader.read(1 << 20))
            await answer(body, writer, EVENTS_S, seconds)
        else:
            writer.write(FOUND % (len(MODELS), MODELS))
            await writer.drain()
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer_request, "127.0.0.1", port, backlog=1024)
        await server.serve_forever()

    asyncio.run(run())


def load(folder: Path, port: int, seconds: float, processes: int) -> tuple[list[RequestRecord], LoadPhase]:
    """Return the measured requests of a load, and its phase; exits if it failed."""
    folder.mkdir()
    out, spec = folder / "requests.jsonl", folder / "spec.json"
    params = {"concurrency": STREAMS, "requests": STREAMS, "prompt_tokens": 16, "warmup_requests": 1,
              "output_tokens": int(EVENTS_S * seconds)}  # fmt: skip
    spec_fields = {"run_id": "r", "base_url": f"http://127.0.0.1:{port}", "engine": "vllm", "workload": "traffic",
            "params": params, "out": str(out), "progress": str(folder / "progress.json"),
            "client_processes": processes}  # fmt: skip
    spec.write_text(json.dumps(spec_fields))
    process = subprocess.run([sys.executable, str(COMMAND_LINE), "load", str(spec)], stderr=subprocess.PIPE, text=True)
    if process.returncode:
        sys.exit(process.stderr)
    lines = [parse_line(line) for line in out.read_text().splitlines()]
    phases = [line for line in lines if isinstance(line, LoadPhase) and line.kind == "measure"]
    return [line for line in lines if isinstance(line, RequestRecord) and line.phase == "measure"], phases[-1]


def row(requests: list[RequestRecord], phase: LoadPhase, seconds: float) -> str:
    events = sum(request.chunks or 0 for request in requests)
    late = [(request.total_ms or 0.0) / 1000 - seconds for request in requests]
    used_s = phase.client_cpu_s or 0.0
    ended = sum(request.error_kind is None for request in requests)
    return (
        f"| {phase.client_processes} | {ended} of {STREAMS} | {events:,} | {used_s:.1f} | {events / used_s:,.0f} "
        f"| {used_s / phase.duration_s / (phase.client_processes or 1):.0%} | {quantile(late, 0.5) * 1e3:.0f} "
        f"| {quantile(late, 0.99) * 1e3:.0f} |"
    )


def main() -> None:
    seconds, port = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS, free_ports(1)[0]
    stub = subprocess.Popen(
        [sys.executable, "-c", f"from benchmarks.client_processes import serve; serve({port}, {seconds})"]
    )
    print("| processes | answers | events | CPU s | events a CPU-second | of a core, each | late, p50, ms | p99 |")
    print("|---|---|---|---|---|---|---|---|")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for processes in PROCESSES:
                print(row(*load(Path(folder) / str(processes), port, seconds, processes), seconds), flush=True)
    finally:
        stub.terminate()
        stub.wait()


if __name__ == "__main__":
    main()
