"""Effect of a log of gigabytes on other runs: `.venv/bin/python -m benchmarks.large_log [GIGABYTES] [SECONDS]`.

The log consists of vLLM's lines (benchmarks/parse_log.py), one in ten a stats line, as repeated blocks of 50 MB. A run
sampled once a second is watched before and while the large log is read: how old is its newest point when it reaches a
viewer of Live? Then the Run page's code is timed at several positions of the large log, which is deleted afterwards.
Loopback only.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
from websockets.asyncio.client import connect

from benchmarks.parse_log import write_log
from demo.presets import free_ports
from domain import Run
from settings import Settings
from storage.store import Store
from tests.e2e.pitwall_process import Pitwall
from tests.e2e.stand_ins import StandIns
from web import markup
from web.live.log_reads import LogReads
from web.runs.page.server_log import LINES

BLOCK_MB = 50
GAPS = """
SELECT max(epoch(gap)), count(gap) / sum(epoch(gap)), epoch(now() - max(ts)) FROM (
    SELECT ts, ts - lag(ts) OVER (ORDER BY ts) AS gap FROM host_samples
    WHERE run_id = '{run}' AND ts BETWEEN '{began}'::TIMESTAMPTZ AND '{ended}'::TIMESTAMPTZ)
"""


def make_log(path: Path, gigabytes: float) -> None:
    block = path.with_name("block")
    write_log(block, BLOCK_MB * 10**6)
    with path.open("wb") as out:
        while out.tell() < gigabytes * 10**9:
            with block.open("rb") as source:
                shutil.copyfileobj(source, out, 1 << 20)
    block.unlink()


async def ages(pitwall: Pitwall, run_id: str, seconds: float) -> list[float]:
    """Return the age of the newest point of each push, in seconds."""
    cookie = httpx.get(f"{pitwall.url}/?token={pitwall.token}").headers["set-cookie"].split(";")[0]
    address = f"{pitwall.url.replace('http', 'ws')}/ws/live?run={run_id}"
    ages_s: list[float] = []
    async with connect(address, additional_headers={"cookie": cookie}, max_size=None) as live:
        await live.send("{}")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = json.loads(await asyncio.wait_for(live.recv(), 120))
            series = (message.get("series") or {}).get("server_rss_bytes")
            if message["type"] == "delta" and series:
                ages_s.append(time.time() - series["t"][-1])
    return ages_s


def measure(title: str, pitwall: Pitwall, run_id: str, seconds: float) -> None:
    """Print one row of the table."""
    began = datetime.now(UTC)
    ages_s = asyncio.run(ages(pitwall, run_id, seconds))
    time.sleep(5)  # until it is published
    sql = GAPS.format(run=run_id, began=began.isoformat(), ended=datetime.now(UTC).isoformat())
    gap_s, per_s, published_s = pitwall.sql(sql)[0]
    p95 = statistics.quantiles(ages_s, n=20)[-1]
    cells = f"{statistics.median(ages_s):.2f} s | {p95:.2f} s | {max(ages_s):.2f} s | {gap_s:.2f} s"
    print(f"| {title} | {cells} | {per_s:.2f}/s | {published_s:.1f} s |", flush=True)


def main() -> None:
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 40.0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        large = root / "large.log"
        make_log(large, gigabytes)
        settings = Settings(data_dir=root / "data")
        with StandIns(settings, root / "logs", count=2, lines_per_s=1) as servers:
            other_id, small = servers.run_ids
            pitwall = Pitwall(settings.data_dir, free_ports(1)[0])
            pitwall.start()
            print("| while | age of a push p50 | p95 | worst | longest gap | samples | age of the published file |")
            print("|---|---|---|---|---|---|---|")
            measure("nothing else happens", pitwall, other_id, seconds)
            pitwall.terminate(60)
            run = attach_to(settings, small, large)
            pitwall.start()
            measure(f"{gigabytes:g} GB are taken in", pitwall, other_id, seconds)
            last_offset = pitwall.sql(f"SELECT max(\"offset\") FROM log_samples WHERE run_id = '{small}'")[0][0] or 0
            print(f"\n{last_offset / 10**9:.2f} GB were taken in by then.\n")
            pitwall.end_everything()
            pages(run, large)


def attach_to(settings: Settings, run_id: str, log: Path) -> Run:
    """Attach this log to the run."""
    store = Store.open(settings)
    run = store.run(run_id)
    assert run
    run = run.model_copy(update={"log_path": str(log)})
    store.save_run(run)
    store.close()
    return run


def pages(run: Run, large: Path) -> None:
    """Time the part of the log that the Run page shows, at its end and elsewhere, each in a new view."""
    size = large.stat().st_size
    print(f"| place in {size / 10**9:.2f} GB | read for the Run page, median of 5 | worst |")
    print("|---|---|---|")
    for title, share in (("its end", None), ("its beginning", 0.0), ("a third", 1 / 3), ("half", 0.5), ("99 %", 0.99)):
        times = [read_s(run, None if share is None else int(size * share)) for _ in range(5)]
        print(f"| {title} | {statistics.median(times) * 1000:.0f} ms | {max(times) * 1000:.0f} ms |")


def read_s(run: Run, since: int | None) -> float:
    began = time.perf_counter()
    piece = LogReads(limit=LINES).ends([run], {run.id: since})[run.id]
    assert markup.log_lines(piece.lines) and piece.lines, piece.problem
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
