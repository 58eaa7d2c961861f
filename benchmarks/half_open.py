"""Effect of half-open sockets on a Pitwall limited to 1,024 files: `.venv/bin/python -m benchmarks.half_open`.

One attached run is scraped once a second; all phases have the same length. In the second phase the given number of
sockets is held open, each with half a request, and reopened when Pitwall closes one. Loopback only, bounded in count
and time.
"""

from __future__ import annotations

import argparse
import json
import selectors
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import psutil
from websockets.sync.client import connect

from demo.presets import free_ports
from machine.open_files import raise_open_file_limit
from settings import Settings
from tests.e2e.faults.test_half_open_sockets import half_a_request
from tests.e2e.pitwall_process import ROOT, Pitwall
from tests.e2e.stand_ins import StandIns

FEW_FILES = ("prlimit", "--nofile=1024:1024")


def hold(port: int, count: int, stop: threading.Event, opened: list[int]) -> None:
    """Keep this many half-open sockets until told to stop."""
    with selectors.DefaultSelector() as selector:
        while not stop.is_set():
            while len(selector.get_map()) < count and not stop.is_set():
                selector.register(half_a_request(port), selectors.EVENT_READ)
                opened.append(1)
            for key, _ in selector.select(0.05):
                selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]


def phase(pitwall: Pitwall, run_id: str, seconds: float) -> str:
    """Return answer times of /healthz, pushes and samples over these seconds, as table cells."""
    assert pitwall.process
    process, took, files, pushes = psutil.Process(pitwall.process.pid), [], [], []
    cookie = httpx.get(f"{pitwall.url}/?token={pitwall.token}").headers["set-cookie"].split(";")[0]
    address = f"{pitwall.url.replace('http', 'ws')}/ws/live?run={run_id}"
    began, cpu = time.monotonic(), sum(process.cpu_times()[:2])
    with connect(address, additional_headers={"cookie": cookie}, max_size=None) as live:
        live.send("{}")
        before = pitwall.sql("SELECT count(*) FROM counter_samples")[0][0]
        while (now := time.monotonic()) - began < seconds:
            assert httpx.get(f"{pitwall.url}/healthz", timeout=60).json()["ok"]
            took.append((time.monotonic() - now) * 1000)
            files.append(process.num_fds())
            try:
                while True:
                    pushes.append(json.loads(live.recv(timeout=0.2))["type"] == "delta")
            except TimeoutError:
                continue
        lasted = time.monotonic() - began
        samples = pitwall.sql("SELECT count(*) FROM counter_samples")[0][0] - before
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    rates = f"{samples / lasted:.2f}/s | {sum(pushes) / lasted:.2f}/s"
    cpu_share = (sum(process.cpu_times()[:2]) - cpu) / lasted
    return f"{p50:.0f} ms | {p95:.0f} ms | {max(took):.0f} ms | {rates} | {max(files)} | {cpu_share:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sockets", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30)
    arguments = parser.parse_args()
    raise_open_file_limit()
    with tempfile.TemporaryDirectory() as folder:
        command = (*FEW_FILES, sys.executable, str(ROOT / "pitwall"), "run")
        pitwall = Pitwall(Path(folder) / "data", free_ports(1)[0], command=command)
        with StandIns(Settings(data_dir=pitwall.data), Path(folder) / "logs", count=1, lines_per_s=2) as servers:
            pitwall.start()
            print("| half-open sockets | /healthz p50 | p95 | worst | samples | pushes | open files, most | CPU |")
            print("|---|---|---|---|---|---|---|---|")
            print(f"| 0 | {phase(pitwall, servers.run_ids[0], arguments.seconds)} |", flush=True)
            stop, opened = threading.Event(), []
            holder = threading.Thread(target=hold, args=(pitwall.port, arguments.sockets, stop, opened))
            holder.start()
            print(f"| {arguments.sockets:,} | {phase(pitwall, servers.run_ids[0], arguments.seconds)} |")
            stop.set()
            holder.join()
            print(f"\n{len(opened):,} sockets were opened in all.")
        pitwall.end_everything()


if __name__ == "__main__":
    main()
