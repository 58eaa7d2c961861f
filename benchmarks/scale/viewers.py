"""Waiting times of 50 viewers who open Runs at once, and the cost for the server and a watched run.

    python -m benchmarks.scale.viewers DIR [--viewers 50] [--turns 3]

DIR is a folder filled by `benchmarks.scale.pages --folder DIR`. On a busy machine the CPU seconds of two versions,
measured in turn, are comparable; the waiting times are not. The run has a stand-in for a server, whose counters are
read once a second.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil

from settings import Settings
from tests.e2e.pitwall_process import Pitwall, running_pitwall
from tests.e2e.stand_ins import StandIns
from tests.e2e.streamlit_client import by_hand

WARM_UPS, REST_S = 3, 5.0
PAUSES = """
SELECT max(epoch(ts - before)) FROM (
    SELECT ts, lag(ts) OVER (ORDER BY ts) AS before
    FROM (SELECT DISTINCT ts FROM counter_samples WHERE run_id = '{run_id}')
) WHERE epoch(ts) BETWEEN {begin} AND {end}
"""


def measure(pitwall: Pitwall, run_id: str, viewers: int, turns: int) -> None:
    """Print one line per turn."""
    answer = httpx.get(f"{pitwall.url}/?token={pitwall.token}")
    cookie = answer.headers["set-cookie"].split(";")[0]
    for _ in range(WARM_UPS):
        opened_s(pitwall.url, cookie)
    time.sleep(REST_S)
    assert pitwall.process
    server = psutil.Process(pitwall.process.pid)
    for _ in range(turns):
        before, begin = server.cpu_times(), time.time()
        with ThreadPoolExecutor(viewers) as pool:
            durations = sorted(pool.map(lambda _: opened_s(pitwall.url, cookie), range(viewers)))
        after = server.cpu_times()
        cpu_s = after.user + after.system - before.user - before.system
        time.sleep(REST_S)
        ((pause_s,),) = pitwall.sql(PAUSES.format(run_id=run_id, begin=begin, end=begin + durations[-1] + REST_S))
        line = f"p50 {durations[viewers // 2]:.1f} s, worst {durations[-1]:.1f} s, CPU of the server {cpu_s:.1f} s"
        line += f", longest pause between its samples {pause_s:.1f} s"
        print(f"{line}, {server.memory_info().rss / 1e6:.0f} MB, load average {os.getloadavg()[0]:.1f}", flush=True)


def opened_s(url: str, cookie: str) -> float:
    """Return the seconds that one viewer waits for Runs, until the page's script has finished."""
    began_s = time.perf_counter()
    with by_hand(url, cookie) as session:
        session.rerun()
    return time.perf_counter() - began_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as logs:
        watched = StandIns(Settings(data_dir=arguments.folder / "data"), Path(logs) / "logs", count=1, lines_per_s=2)
        with watched as servers, running_pitwall(arguments.folder / "data") as pitwall:
            measure(pitwall, servers.run_ids[0], arguments.viewers, arguments.turns)


if __name__ == "__main__":
    main()
