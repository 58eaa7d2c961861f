"""CPU cost of scanning a server's process tree, by its number of threads.

`python -m benchmarks.host_tick [10 100 300 1000]` prints CPU milliseconds per tick: of the whole host collector, and
of reading the threads' waits only. The server is a process whose threads wake up ten times a second.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import psutil

from collectors.machine.host import HostCollector
from collectors.machine.run_queue import ThreadTimes
from domain import Config, Run, RunState
from machine.process_start import process_start_s

SERVER = """
import sys, threading, time
def work():
    while True: time.sleep(0.1)
for _ in range(int(sys.argv[1]) - 1): threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
work()
"""
TICKS = 50


def cpu_ms(tick: Callable[[], object]) -> float:
    """Return the mean CPU time of one tick."""
    tick()
    began = time.process_time()
    for _ in range(TICKS):
        tick()
    return (time.process_time() - began) / TICKS * 1000


def measure(threads: int) -> str:
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(threads)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout and server.stdout.readline() == "ready\n"
        assert psutil.Process(server.pid).num_threads() == threads
        run = Run(
            id="r", name="r", color=0, config=Config(), machine_id="m", state=RunState.RUNNING,
            created_at=datetime.now(UTC), pid=server.pid, pid_birth_s=process_start_s(server.pid),
        )  # fmt: skip
        collector, times = HostCollector("m"), ThreadTimes()
        collector_ms, waits_ms = (
            cpu_ms(lambda: list(collector.collect(run))),
            cpu_ms(lambda: times.read([server.pid], 0.0)),
        )
        return f"| {threads} | {collector_ms:.2f} ms | {waits_ms:.2f} ms | {collector_ms / 10:.2f} % |"
    finally:
        server.kill()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("threads", type=int, nargs="*", default=[10, 100, 300, 1000])
    print("| threads | a tick | of it, the threads' waits | of a core at one tick a second |\n|---|---|---|---|")
    for threads in parser.parse_args().threads:
        print(measure(threads), flush=True)


if __name__ == "__main__":
    main()
