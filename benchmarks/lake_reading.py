"""Time to read runs from the lake compared with the store: `python -m benchmarks.lake_reading 300 300`.

The arguments are runs and seconds per run; a PostgreSQL and an S3 server are started on loopback and ended.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

from machine.private_files import write_private
from reports.runs.run_report import report_on
from service.fleet import Fleet
from settings import Settings
from storage.lake.config import S3, LakeConfig
from storage.lake.connection import opened_lake
from storage.lake.layout import make_lake, required_columns
from storage.lake.upkeep import compact
from storage.queries.run_queries import RunFilter, find_runs
from storage.store import Store
from tests.storage.lake.boxes import Box, lake_toml
from tests.storage.lake.servers import KEYS, Postgres, S3Server

LAPS = 3


def timed(ask: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    began_s = time.perf_counter()
    ask()
    return time.perf_counter() - began_s


def opened_box(folder: Path, config: LakeConfig) -> Box:
    settings = Settings(data_dir=folder)
    store = Store.open(settings)
    write_private(settings.lake_path, lake_toml(config).encode())
    return Box(folder.name, settings, store, config)


def measure(folder: Path, config: LakeConfig, runs: int, seconds: int) -> None:
    """Print the table."""
    box, other_box = opened_box(folder / "box", config), opened_box(folder / "other", config)
    with opened_lake(config) as connection:
        make_lake(connection, required_columns(box.store.query))
    for first in range(0, runs, 100):
        box.add_runs(f"r{first:05}-", min(100, runs - first), seconds)
    began_s = time.perf_counter()
    shipped = box.ship()
    print(f"shipped {shipped.rows:,} rows of {runs} runs in {time.perf_counter() - began_s:.1f} s")
    ids = [run.id for run in box.store.runs()]
    for state in ("as shipped", "compacted"):
        with closing(Fleet(other_box.settings, other_box.store)) as fleet:
            row(state, box.store, fleet, ids)
        if state == "as shipped":
            print(compact(config, kept_days=0))
    for opened in (box, other_box):
        opened.store.close()


def row(state: str, store: Store, fleet: Fleet, ids: Sequence[str]) -> None:
    """Print the times for three new runs in each lap, and for the list."""
    laps = iter([ids[n : n + 3] for n in range(0, 3 * LAPS + 3, 3)])
    report_on(fleet.queryable_for(next_ids := next(laps)), fleet.runs_of(next_ids))  # the connection is open
    laps_there = list(laps)
    store_s = median(
        [timed(lambda run_ids=batch_ids: report_on(store, store.runs_of(run_ids))) for batch_ids in laps_there]
    )
    lake_s = median(
        [
            timed(lambda batch_ids=batch_ids: report_on(fleet.queryable_for(batch_ids), fleet.runs_of(batch_ids)))
            for batch_ids in laps_there
        ]
    )
    times = f"{1e3 * store_s:.0f} ms | {1e3 * lake_s:.0f} ms"
    print(f"| report of 3 runs, {state} | {times} | {lake_s / store_s:.1f} |")
    again = median(
        [
            timed(lambda batch_ids=batch_ids: report_on(fleet.queryable_for(batch_ids), fleet.runs_of(batch_ids)))
            for batch_ids in laps_there
        ]
    )
    print(f"| the same again, {state} | {1e3 * store_s:.0f} ms | {1e3 * again:.0f} ms | {again / store_s:.1f} |")
    store_s = median([timed(lambda: find_runs(store, RunFilter(), 200)) for _ in range(LAPS)])
    lake_s = median([timed(lambda: find_runs(fleet, RunFilter(), 200)) for _ in range(LAPS)])
    times = f"{1e3 * store_s:.0f} ms | {1e3 * lake_s:.0f} ms"
    print(f"| list of 200 runs, {state} | {times} | {lake_s / store_s:.1f} |")


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="lake-reading-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        postgres, s3 = Postgres(folder / "postgres"), S3Server(folder / "s3")
        try:
            key_id, secret = KEYS["rw"]
            files = S3(endpoint=f"127.0.0.1:{s3.port}", key_id=key_id, secret=secret, use_ssl=False)
            config = LakeConfig(catalogue=postgres.dsn("postgres"), data_path="s3://pitwall/bench/", s3=files)
            measure(folder, config, *map(int, sys.argv[1:3]))
        finally:
            postgres.stop_hard()
            s3.stop_hard()


if __name__ == "__main__":
    main()
