"""What Runs, Compare and Live wait for when many runs are stored, beside bare DuckDB on the same rows.

    python -m benchmarks.scale.pages [--runs 1000] [--folder DIR] [--turns 15] [--viewers 50]

A folder that holds fewer runs is filled first (benchmarks/scale/many_runs.py); of one that holds more, all are used.
First the questions of each page are asked in this process; then a whole Pitwall is started on the store, and its pages
and its push are asked over the wire, by one and by many at once.
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
from reports.runs.ended import EndedEvidence, EndedReports
from reports.runs.run_line import lines_of
from settings import Settings
from storage.ask.literals import quoted
from storage.ask.run_queries import RunFilter, find_runs, run_choices
from storage.files.known import KnownFiles
from storage.store import Store
from web.live.ended import EndedRuns
from web.live.reader import StoreReader

SHOWN = 200
IN_FORCE = "SELECT DISTINCT coalesce(merged_path, path) AS file FROM raw.sealed_files WHERE table_name = ?"


def runs_page(store: Store) -> None:
    """What the Runs page asks at each click."""
    run_choices(store)
    lines_of(store, find_runs(store, RunFilter(order_by="stream"), SHOWN))


def compare_page(store: Store, reports: EndedReports, runs: Sequence[Run]) -> None:
    comparison_of(store, runs)
    reports.of(store, runs)


def bare(store: Store, data: Path, runs: Sequence[Run], tables: Sequence[str]) -> None:
    """The rows that a page needs, by DuckDB alone from the same files: read, and nothing made of them."""
    ids = ", ".join(quoted(run.id) for run in runs)
    with duckdb.connect() as connection:
        for table in tables:
            found = store.query(IN_FORCE, [table])["file"].to_pylist()
            files = [f"{data}/parquet/{file}" for file in found]
            connection.execute(f"FROM read_parquet(?) WHERE run_id IN ({ids})", [files]).to_arrow_table()


def prepare(store: Store, data: Path, runs: Sequence[Run], turns: int) -> None:
    """What the background has computed of every run that has ended, of those that will be asked about."""
    kept = KnownFiles(Settings(data_dir=data).runs_dir)
    reports, begun = EndedReports(kept), time.process_time()
    ended, evidence, asked = EndedRuns(kept, reports), EndedEvidence(kept), turns_asked(turns)
    for turn in asked:
        ended.prepare(store, spread(runs, turn=turn))
        evidence.prepare(store, spread(runs, turn=turn))
    each_s = (time.process_time() - begun) / len(asked) / ARMS
    print(f"{each_s:.2f} CPU seconds a run to prepare what is kept of it\n")


def turns_asked(turns: int) -> list[int]:
    """Each turn asks about other runs: here, by the pages and by the push."""
    return [*range(4 * turns), VIEWED, *range(PUSHED, PUSHED + turns)]


def p50_p95_cpu_ms(ask: Callable[[], object], turns: int) -> tuple[float, float, float]:
    taken, cpu = [], time.process_time()
    for _ in range(turns):
        begun = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - begun) * 1e3)
    return quantile(taken, 0.5), quantile(taken, 0.95), (time.process_time() - cpu) / turns * 1e3


def questions(store: Store, data: Path, runs: Sequence[Run]) -> Mapping[str, Callable[[], object]]:
    """Each page's questions; of Compare and Live other runs each time, and Live's once more of the same runs."""
    kept, turn = KnownFiles(Settings(data_dir=data).runs_dir), count()
    reports = EndedReports(kept)
    reader, anew = StoreReader(lambda: store, ended=EndedRuns(kept, reports)), StoreReader(lambda: store)
    same = [run.id for run in spread(runs, turn=0)]
    return {
        f"Runs page: filters, {SHOWN} runs by speed, their lines": lambda: runs_page(store),
        f"Compare of {ARMS} arms": lambda: compare_page(store, reports, spread(runs, turn=next(turn))),
        f"Compare of {ARMS} arms of which nothing is kept": lambda: compare_page(
            store, EndedReports(), spread(runs, turn=next(turn))
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
    """Print what the questions take in this process; all runs, the newest first."""
    settle(data)
    begun = time.perf_counter()
    store = Store.open(Settings(data_dir=data))
    opened_s = time.perf_counter() - begun
    (rows,) = store.query("SELECT sum(row_count)::BIGINT AS n FROM raw.sealed_files")["n"].to_pylist()
    parts, files = store.query(
        "SELECT count(*) AS n FROM raw.sealed_files UNION ALL "
        "SELECT count(DISTINCT coalesce(merged_path, path)) FROM raw.sealed_files"
    )["n"].to_pylist()
    runs = store.runs()
    print(
        f"{len(runs):,} runs, {rows:,} rows, {parts:,} parts in {files:,} files; the store opens in {opened_s:.1f} s\n"
    )
    prepare(store, data, runs, turns)
    print("| asked in one process | p50 | p95 | CPU |\n|---|---|---|---|")
    for what, ask in questions(store, data, runs).items():
        middle, slow, cpu = p50_p95_cpu_ms(ask, turns)
        print(f"| {what} | {middle:.0f} ms | {slow:.0f} ms | {cpu:.0f} ms |", flush=True)
    store.close()
    return runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where the store is, or is made and left")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--viewers", type=int, default=50)
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder: Path = said.folder or Path(name)
        begun = time.perf_counter()
        fill(folder, said.runs)
        print(f"{said.runs:,} runs are there after {time.perf_counter() - begun:.0f} s")
        runs = measure_questions(folder / "data", said.turns)
        measure_served(folder / "data", runs, said.turns, said.viewers)
    print(f"\nload average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
