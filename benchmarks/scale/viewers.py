"""What 50 viewers who open Runs at once wait for, and what that costs the server and a run that it watches.

    python -m benchmarks.scale.viewers DIR [--viewers 50] [--turns 3]

DIR is a folder that `benchmarks.scale.pages --folder DIR` has filled. On a busy machine the CPU seconds of two
versions, asked in turn, can be compared; what each viewer waits for cannot. The run is of a stand-in for a server,
which is asked for its counters once a second.
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
    """A line a turn."""
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
            taken = sorted(pool.map(lambda _: opened_s(pitwall.url, cookie), range(viewers)))
        after = server.cpu_times()
        cpu_s = after.user + after.system - before.user - before.system
        time.sleep(REST_S)
        ((pause_s,),) = pitwall.sql(PAUSES.format(run_id=run_id, begin=begin, end=begin + taken[-1] + REST_S))
        words = f"p50 {taken[viewers // 2]:.1f} s, worst {taken[-1]:.1f} s, CPU of the server {cpu_s:.1f} s"
        words += f", longest pause between its samples {pause_s:.1f} s"
        print(f"{words}, {server.memory_info().rss / 1e6:.0f} MB, load average {os.getloadavg()[0]:.1f}", flush=True)


def opened_s(url: str, cookie: str) -> float:
    """One viewer opens Runs: until the page's script is through."""
    begun = time.perf_counter()
    with by_hand(url, cookie) as session:
        session.rerun()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--turns", type=int, default=3)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as logs:
        watched = StandIns(Settings(data_dir=said.folder / "data"), Path(logs) / "logs", count=1, lines_per_s=2)
        with watched as servers, running_pitwall(said.folder / "data") as pitwall:
            measure(pitwall, servers.run_ids[0], said.viewers, said.turns)


if __name__ == "__main__":
    main()
