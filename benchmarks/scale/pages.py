"""Query times of Runs, Compare and Live with many stored runs, compared with plain DuckDB on the same rows.

    python -m benchmarks.scale.pages [--runs 1000] [--folder DIR] [--turns 15] [--viewers 50]

A folder with fewer runs is filled first (benchmarks/scale/many_runs.py); one with more is used completely. First the
queries of each page run in this process; then a whole Pitwall is started on the store, and its pages and its push are
requested over the network, by one viewer and by many at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

import duckdb

from analysis.evidence.measure import quantile
from benchmarks.scale.many_runs import ARMS, TABLES, fill, settle, spread
from benchmarks.scale.served import PUSHED, VIEWED, measure_served
from domain import Run
from reports.arms.comparison import comparison_of
from reports.cache.run_cache import EvidenceCache, ReportCache
from reports.runs.run_line import lines_of
from settings import Settings
from storage.files.report_files import ReportFiles
from storage.queries.concurrency import query_pool
from storage.queries.literals import quoted
from storage.queries.run_queries import RunFilter, find_runs, run_choices
from storage.store import Store
from web.live.finished_charts import FinishedCharts
from web.live.reader import StoreReader

SHOWN = 200
IN_FORCE = "SELECT DISTINCT coalesce(merged_path, path) AS file FROM raw.sealed_files WHERE table_name = ?"


def runs_page(store: Store) -> None:
    """Run the queries of the Runs page at each click."""
    run_choices(store)
    lines_of(store, find_runs(store, RunFilter(order_by="stream"), SHOWN))


def compare_page(store: Store, reports: ReportCache, runs: Sequence[Run]) -> None:
    """Run the queries of the Compare page as it does."""
    with query_pool() as pool:
        pool.submit(reports.get, store, runs)
        comparison_of(store, runs)


def bare(store: Store, data: Path, runs: Sequence[Run], tables: Sequence[str]) -> None:
    """Read the rows that a page needs with DuckDB alone from the same files, without processing them."""
    ids = ", ".join(quoted(run.id) for run in runs)
    with duckdb.connect() as connection:
        for table in tables:
            file_names = store.query(IN_FORCE, [table])["file"].to_pylist()
            files = [f"{data}/parquet/{file}" for file in file_names]
            connection.execute(f"FROM read_parquet(?) WHERE run_id IN ({ids})", [files]).to_arrow_table()


def prepare(store: Store, data: Path, runs: Sequence[Run], turns: int) -> None:
    """Compute what the background has stored for every ended run, for the runs in use."""
    report_files = ReportFiles(Settings(data_dir=data).runs_dir)
    reports, began_s = ReportCache(report_files), time.process_time()
    ended, evidence, selections = FinishedCharts(report_files, reports), EvidenceCache(report_files), turns_asked(turns)
    for turn in selections:
        ended.prepare(store, spread(runs, turn=turn))
        evidence.prepare(store, spread(runs, turn=turn))
    each_s = (time.process_time() - began_s) / len(selections) / ARMS
    print(f"{each_s:.2f} CPU seconds a run to prepare what is kept of it\n")


def turns_asked(turns: int) -> list[int]:
    """Return the runs of each turn, which differ: for the queries here, the pages and the push."""
    return [*range(4 * turns), VIEWED, *range(PUSHED, PUSHED + turns)]


def p50_p95_cpu_ms(ask: Callable[[], object], turns: int) -> tuple[float, float, float]:
    durations, cpu = [], time.process_time()
    for _ in range(turns):
        began_s = time.perf_counter()
        ask()
        durations.append((time.perf_counter() - began_s) * 1e3)
    return quantile(durations, 0.5), quantile(durations, 0.95), (time.process_time() - cpu) / turns * 1e3


def questions(store: Store, data: Path, runs: Sequence[Run]) -> Mapping[str, Callable[[], object]]:
    """Return each page's queries; Compare and Live use other runs each time, Live also the same ones again."""
    report_files, turn = ReportFiles(Settings(data_dir=data).runs_dir), count()
    reports = ReportCache(report_files)
    reader, anew = (
        StoreReader(lambda: store, finished=FinishedCharts(report_files, reports)),
        StoreReader(lambda: store),
    )
    same = [run.id for run in spread(runs, turn=0)]
    return {
        f"Runs page: filters, {SHOWN} runs by speed, their lines": lambda: runs_page(store),
        f"Compare of {ARMS} arms": lambda: compare_page(store, reports, spread(runs, turn=next(turn))),
        f"Compare of {ARMS} arms of which nothing is kept": lambda: compare_page(
            store, ReportCache(), spread(runs, turn=next(turn))
        ),
        "bare DuckDB: such runs' rows read": lambda: bare(store, data, spread(runs, turn=next(turn)), list(TABLES)),
        f"Live of {ARMS} ghosts, not shown before": lambda: reader.snapshots(
            [run.id for run in spread(runs, turn=next(turn))]
        ),
        f"Live of {ARMS} ghosts of which nothing is kept": lambda: anew.snapshots(
            [run.id for run in spread(runs, turn=next(turn))]
        ),
        f"Live of {ARMS} ghosts, shown before": lambda: reader.snapshots(same),
        "bare DuckDB: such runs' samples read": lambda: bare(
            store, data, spread(runs, turn=next(turn)), ["counter_samples"]
        ),
        "publishing (in the background)": store.publish,
    }


def measure_questions(data: Path, turns: int) -> list[Run]:
    """Print the times of the queries in this process; all runs, newest first."""
    settle(data)
    began_s = time.perf_counter()
    store = Store.open(Settings(data_dir=data))
    opened_s = time.perf_counter() - began_s
    (rows,) = store.query("SELECT sum(row_count)::BIGINT AS n FROM raw.sealed_files")["n"].to_pylist()
    part_count, files = store.query(
        "SELECT count(*) AS n FROM raw.sealed_files UNION ALL "
        "SELECT count(DISTINCT coalesce(merged_path, path)) FROM raw.sealed_files"
    )["n"].to_pylist()
    runs = store.runs()
    size = f"{len(runs):,} runs, {rows:,} rows, {part_count:,} parts in {files:,} files"
    print(f"{size}; the store opens in {opened_s:.1f} s\n")
    prepare(store, data, runs, turns)
    print("| asked in one process | p50 | p95 | CPU |\n|---|---|---|---|")
    for title, ask in questions(store, data, runs).items():
        middle, slow, cpu = p50_p95_cpu_ms(ask, turns)
        print(f"| {title} | {middle:.0f} ms | {slow:.0f} ms | {cpu:.0f} ms |", flush=True)
    store.close()
    return runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where the store is, or is made and left")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--viewers", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder: Path = arguments.folder or Path(name)
        began_s = time.perf_counter()
        fill(folder, arguments.runs)
        print(f"{arguments.runs:,} runs are there after {time.perf_counter() - began_s:.0f} s")
        runs = measure_questions(folder / "data", arguments.turns)
        measure_served(folder / "data", runs, arguments.turns, arguments.viewers)
    print(f"\nload average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
