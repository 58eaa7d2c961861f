"""CPU cost of collecting from 1 and 8 runs at 1 Hz, with a server that answers a real /metrics.

`python benchmarks/collectors_cpu.py [--seconds 30]` prints a table. The body served is one captured from vLLM 0.32 with
two engines (999 lines), its second engine's lines repeated for two more: 1,739 lines. Server and log writers are
processes of their own; the CPU time is that of the collecting process alone. Each run has the standard collectors:
endpoint, log, requests, host (the server's process tree) and GPU, where there is one.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


from collectors.loop import CollectorLoop
from collectors.standard import standard_collectors
from domain import Config, Run, RunState
from machine.process_start import process_start_s
from samples import Batch

CAPTURE = Path(__file__).with_name("vllm-0.32-dp2-metrics.txt.gz")
LOG_LINE = (
    "(APIServer pid=1) INFO {now:%m-%d %H:%M:%S} [loggers.py:259] Engine 000: Avg prompt throughput: 10.0 tokens/s, "
    "Avg generation throughput: 120.5 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, "
    "Prefix cache hit rate: 0.0%\n"
)
REQUEST_LINE = 'INFO:     127.0.0.1:35360 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def metrics_body() -> bytes:
    lines = gzip.decompress(CAPTURE.read_bytes()).decode().splitlines()
    more = [line.replace('engine="1"', f'engine="{i}"') for i in (2, 3) for line in lines if 'engine="1"' in line]
    return "\n".join([*lines, *more, ""]).encode()


def serve() -> None:
    """Serve /metrics on a port that it prints."""
    body = metrics_body()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def write_logs(folder: Path, runs: int, lines_per_s: int) -> None:
    """Append to each run's log, one line in ten a stats line, with one write per line as a server does."""
    files = [(folder / f"{number}.log").open("ab", buffering=0) for number in range(runs)]
    for count in range(sys.maxsize):
        line = LOG_LINE.format(now=datetime.now(UTC)) if count % 10 == 0 else REQUEST_LINE
        for file in files:
            file.write(line.encode())
        time.sleep(1 / lines_per_s)


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen([sys.executable, str(Path(__file__)), *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def make_run(number: int, server: subprocess.Popen[str], port: str, folder: Path) -> Run:
    return Run(
        id=f"run-{number}",
        name=f"run-{number}",
        color=0,
        machine_id="bench",
        state=RunState.RUNNING,
        config=Config(engine="vllm"),
        base_url=f"http://127.0.0.1:{port}",
        log_path=str(folder / f"{number}.log"),
        run_dir=str(folder),
        pid=server.pid,
        pid_birth_s=process_start_s(server.pid),
        created_at=datetime.now(UTC),
    )


def measure(runs: int, lines_per_s: int, seconds: float) -> str:
    kinds: Counter[str] = Counter()

    def sink(batch: Batch) -> None:
        kinds.update(type(sample).__name__ for sample in batch.samples)

    with (
        tempfile.TemporaryDirectory() as name,
        process("--serve") as server,
        process("--write", name, str(runs), str(lines_per_s)),
    ):
        assert server.stdout is not None
        port, folder = server.stdout.readline().strip(), Path(name)
        live = [make_run(number, server, port, folder) for number in range(runs)]
        loop = CollectorLoop(sink, lambda: live, standard_collectors("bench", lambda *_: None))
        loop.start()
        time.sleep(3)  # imports, first connections, first listing of processes
        kinds.clear()
        cpu_s, began = time.process_time(), time.monotonic()
        time.sleep(seconds)
        percent = 100 * (time.process_time() - cpu_s) / (time.monotonic() - began)
        loop.stop()
    samples = ", ".join(f"{kind} {count / seconds:.1f}/s" for kind, count in sorted(kinds.items()))
    return f"| {runs} | {lines_per_s} | {percent:.2f} % | {percent / runs:.2f} % | {samples} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve()
    if arguments.write:
        folder, runs, lines_per_s = arguments.write
        return write_logs(Path(folder), int(runs), int(lines_per_s))
    body = metrics_body()
    print(f"/metrics: {body.count(chr(10).encode())} lines, {len(body):,} bytes; CPU as a share of one core\n")
    print("| runs | log lines/s and run | CPU | CPU a run | samples |\n|---|---|---|---|---|")
    for runs, lines_per_s in ((1, 2), (8, 2), (1, 100), (1, 1000)):
        print(measure(runs, lines_per_s, arguments.seconds), flush=True)
    return None


if __name__ == "__main__":
    main()
