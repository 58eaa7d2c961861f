"""What the Runs and Compare pages wait for when many runs are stored, beside bare DuckDB on the same rows.

    python -m benchmarks.pages_at_scale [runs]

A few runs of an idealised engine are copied through the import of bundles, each an hour earlier than the one before.
Each has its loads, requests and 10,000 counter samples. All have ended, and their sealed files are merged.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
import psutil

from analysis.evidence.measure import quantile
from domain import Run
from load_records import Result
from reports.arms.comparison import comparison_of
from reports.formulas import formulas
from reports.runs.run_line import compute_lines, lines_of
from reports.runs.run_report import report_on
from samples import Batch
from settings import Settings
from storage.ask.literals import quoted
from storage.ask.run_queries import RunFilter, find_runs, run_choices
from storage.files.seal import SealedDraft
from storage.store import Store
from tests.comparison.ideal_engine import IdealEngine, repeats
from tests.comparison.stored.test_store_to_answer import SMALL, stored

TABLES = {
    "results": "ts",
    "loads": "ts",
    "load_phases": "ts",
    "load_counters": "ts",
    "requests": "sent_at",
    "counter_samples": "ts",
}
SAMPLES = 10_000  # counter samples a run, ten a second
ARMS, SHOWN, TURNS = 8, 200, 15
COUNTERS = f"""
    SELECT $id AS run_id, $began + i * INTERVAL 100 MILLISECOND AS ts, i / 10.0 AS mono_s, 'vllm.counter' AS definition,
        10.0 * i AS generation_tokens_total, 1.0 AS first_tokens_total, 5.0 * i AS inter_token_count_total,
        9.0 AS prompt_tokens_total, 1.0 AS requests_running
    FROM range({SAMPLES}) AS t(i)
"""


def templates(folder: Path) -> tuple[Store, list[Run]]:
    """A store with one run of each of eight configurations."""
    store, rng = Store.open(Settings(data_dir=folder)), np.random.default_rng(7)
    made = []
    for k in range(ARMS):
        (facts,) = repeats(IdealEngine(0.02, drafts=k, start_sd=0.005), "ladder", 1, rng, **SMALL)
        made.append(stored(store, facts, k, k))
        told = Result(
            made[-1].id, "l", made[-1].created_at, "Single", "decode_tps", "mean", "tok/s", "pitwall", 80.0 + k
        )
        store.write(Batch((replace(told, concurrency=1),))).result()
    return store, made


TIMES = ("created_at", "started_at", "ready_at", "ended_at")
Copy = tuple[Run, list[SealedDraft]]


def copies(source: Store, originals: Sequence[Run], count: int, folder: Path) -> Iterator[Copy]:
    """Runs like these with the files of their samples, each an hour earlier than the one before."""
    with duckdb.connect(config={"threads": 1}) as connection:
        rows = {table: source.query(f"FROM raw.{table}") for table in TABLES}
        for table, content in rows.items():
            connection.register(table, content)
        for number in range(count):
            original, later = originals[number % len(originals)], -timedelta(hours=number)
            moved = {name: getattr(original, name) + later for name in TIMES}
            run = original.model_copy(update={"id": f"run-{number:05}", "name": f"run {number}", **moved})
            yield run, [_draft(connection, original, run, table, folder) for table in TABLES]


def _draft(connection: duckdb.DuckDBPyConnection, original: Run, run: Run, table: str, folder: Path) -> SealedDraft:
    path, at = folder / f"{table}-{run.id}.parquet", TABLES[table]
    by = f"INTERVAL '{int((run.created_at - original.created_at).total_seconds())} seconds'"
    moved = f"SELECT * REPLACE ({quoted(run.id)} AS run_id, {at} + {by} AS {at})"
    own = f"{moved} FROM {table} WHERE run_id = {quoted(original.id)}"
    if table == "counter_samples":
        assert run.ready_at is not None
        began = f"TIMESTAMPTZ {quoted(run.ready_at.isoformat())}"
        own += " UNION ALL BY NAME " + COUNTERS.replace("$id", quoted(run.id)).replace("$began", began)
    done = connection.execute(f"COPY ({own} ORDER BY {at}) TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    (rows,) = done.fetchone() or (0,)
    return SealedDraft(table, run.id, path, rows)


def filled(folder: Path, count: int) -> Store:
    """A store with so many runs, taken in by the import of bundles, their files merged and their lines kept."""
    source, originals = templates(folder / "source")
    store = Store.open(Settings(data_dir=folder / "data"))
    made: list[Copy] = []
    for one in copies(source, originals, count, folder):
        made.append(one)
        if len(made) == 250 or one[0].id == f"run-{count - 1:05}":
            store.take_sealed([run for run, _ in made], [draft for _, drafts in made for draft in drafts])
            made.clear()
    source.close()
    while store.merge():
        pass
    keep_lines(store)
    return store


def keep_lines(store: Store) -> None:
    """Of each of the eight configurations one line is computed; its copies have the same."""
    runs, asked_s = store.runs(), time.monotonic()
    first = compute_lines(store, runs[:ARMS])
    of_k = {(run.config.speculative and run.config.speculative.num_tokens): first[run.id] for run in runs[:ARMS]}
    lines = [(run, of_k[run.config.speculative and run.config.speculative.num_tokens]) for run in runs]
    store.keep_run_lines(lines, formulas(), asked_s)


def runs_page(store: Store) -> None:
    """What the Runs page asks at each click."""
    run_choices(store)
    lines_of(store, find_runs(store, RunFilter(order_by="stream"), SHOWN))


def compare_page(store: Store, runs: Sequence[Run]) -> None:
    comparison_of(store, runs)
    report_on(store, runs)


def bare(folder: Path, runs: Sequence[Run]) -> None:
    """The rows that Compare needs, by DuckDB alone from the same files: read, and nothing made of them."""
    ids = ", ".join(quoted(run.id) for run in runs)
    with duckdb.connect() as connection:
        for table in TABLES:
            files = quoted(f"{folder}/data/parquet/{table}/merged/*.parquet")
            connection.execute(f"FROM read_parquet({files}) WHERE run_id IN ({ids})").to_arrow_table()


def p50_p95_ms(ask: Callable[[], object]) -> tuple[float, float]:
    taken = []
    for _ in range(TURNS):
        begun = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - begun) * 1e3)
    return quantile(taken, 0.5), quantile(taken, 0.95)


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, begun = Path(name), time.perf_counter()
        store = filled(folder, count)
        (stored_rows,) = store.query("SELECT sum(row_count)::BIGINT AS n FROM raw.sealed_files")["n"].to_pylist()
        parts, files = store.query(
            "SELECT count(*) AS n FROM raw.sealed_files UNION ALL "
            "SELECT count(DISTINCT coalesce(merged_path, path)) FROM raw.sealed_files"
        )["n"].to_pylist()
        took_s = time.perf_counter() - begun
        print(f"{count:,} runs, {stored_rows:,} rows, {parts:,} parts in {files:,} files, made in {took_s:.0f} s")
        store.close()
        begun = time.perf_counter()
        store = Store.open(Settings(data_dir=folder / "data"))
        print(f"start: {time.perf_counter() - begun:.1f} s\n")
        arms = find_runs(store, RunFilter(), count)[:: max(1, count // ARMS)][:ARMS]
        print("| asked | p50 | p95 |\n|---|---|---|")
        for what, ask in {
            "Runs page: filters, 200 runs by speed, their lines": lambda: runs_page(store),
            f"Compare of {len(arms)} arms spread over all": lambda: compare_page(store, arms),
            "bare DuckDB: the same runs' rows read": lambda: bare(folder, arms),
            "publishing (in the background)": store.publish,
        }.items():
            middle, slow = p50_p95_ms(ask)
            print(f"| {what} | {middle:.0f} ms | {slow:.0f} ms |")
        print(f"\nresident {psutil.Process().memory_info().rss / 1e6:.0f} MB, load average {os.getloadavg()[0]:.0f}")
        store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
