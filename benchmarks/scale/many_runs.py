"""Store of many ended runs, imported as bundles, for benchmarks.

A few runs of an idealised engine are copied, each an hour earlier than the one before: their loads and requests, and
10,000 counter samples each, ten per second. Their sealed files are merged, and their lines are stored.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np

from domain import Run
from load_records import Result
from reports.runs.run_line import compute_lines, line_version
from samples import Batch
from settings import Settings
from storage.files.seal import SealedDraft
from storage.queries.literals import quoted
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored

TABLES = {
    "results": "ts",
    "loads": "ts",
    "load_phases": "ts",
    "load_counters": "ts",
    "requests": "sent_at",
    "counter_samples": "ts",
}
SAMPLES = 10_000  # counter samples a run, ten a second
ARMS = 8
AT_A_TIME = 250  # runs an import
OWN = """
    SELECT rows.* REPLACE (copies.id AS run_id, $at + to_seconds(by_s) AS $at)
    FROM $table AS rows JOIN copies ON rows.run_id = original
"""
COUNTERS = f"""
    UNION ALL BY NAME
    SELECT copies.id AS run_id, ready_at + i * INTERVAL 100 MILLISECOND AS ts, i / 10.0 AS mono_s,
        'vllm.counter' AS definition, 0 AS engine_index, 10.0 * i AS generation_tokens_total, 1.0 AS first_tokens_total,
        5.0 * i AS inter_token_count_total, 9.0 AS prompt_tokens_total, 1.0 AS requests_running
    FROM copies, range({SAMPLES}) AS t(i)
"""
WRITTEN = "FORMAT parquet, COMPRESSION zstd, PARTITION_BY (run_id), WRITE_PARTITION_COLUMNS, RETURN_STATS"
TIMES = ("created_at", "started_at", "ready_at", "ended_at")


def fill(folder: Path, count: int) -> None:
    """Create a store of this many runs in `folder`/data, or extend the existing one to this many."""
    store = Store.open(Settings(data_dir=folder / "data"))
    run_count = len(store.runs())
    source, originals = _templates(folder / f"source-{run_count}")
    with duckdb.connect(config={"threads": 1}) as connection:
        for table in TABLES:
            connection.register(table, source.query(f"FROM raw.{table}"))
        for first in range(run_count, count, AT_A_TIME):
            copies = [_copy(originals, number) for number in range(first, min(first + AT_A_TIME, count))]
            store.adopt_runs([run for _, run in copies], _drafts(connection, copies, folder / str(first)))
    source.close()
    store.close()


def settle(data: Path) -> None:
    """Finish background work: merge files, and store the lines of the list of runs."""
    store = Store.open(Settings(data_dir=data))
    while store.merge():
        pass
    _keep_lines(store)
    store.close()


def spread(runs: Sequence[Run], most: int = ARMS, turn: int = 0) -> list[Run]:
    """Return a run of each configuration, far apart in the store, others in each turn."""
    apart = max(ARMS, len(runs) // most // ARMS * ARMS)
    return [runs[(k * apart + turn * ARMS + k) % len(runs)] for k in range(min(most, len(runs)))]


def _templates(folder: Path) -> tuple[Store, list[Run]]:
    """Create a store with one run of each of eight configurations."""
    store, rng = Store.open(Settings(data_dir=folder)), np.random.default_rng(7)
    templates = []
    for k in range(ARMS):
        (facts,) = repeats(IdealEngine(0.02, drafts=k, start_sd=0.005), "ladder", 1, rng, **SMALL)
        templates.append(stored(store, facts, k, k))
        result = Result(
            templates[-1].id,
            "l",
            templates[-1].created_at,
            "Single",
            "decode_tps",
            "mean",
            "tok/s",
            "pitwall",
            80.0 + k,
        )
        store.write(Batch((replace(result, concurrency=1),))).result()
    return store, templates


def _copy(originals: Sequence[Run], number: int) -> tuple[Run, Run]:
    """Return a copy of a run that is this many hours earlier."""
    original = originals[number % len(originals)]
    moved = {name: getattr(original, name) - timedelta(hours=number) for name in TIMES}
    return original, original.model_copy(update={"id": f"run-{number:05}", "name": f"run {number}", **moved})


def _drafts(
    connection: duckdb.DuckDBPyConnection, copies: Sequence[tuple[Run, Run]], folder: Path
) -> list[SealedDraft]:
    """Write one file per table for each of these copies."""
    rows = [
        (run.id, original.id, (run.created_at - original.created_at).total_seconds(), run.ready_at)
        for original, run in copies
    ]
    connection.execute("CREATE OR REPLACE TABLE copies (id TEXT, original TEXT, by_s DOUBLE, ready_at TIMESTAMPTZ)")
    connection.executemany("INSERT INTO copies VALUES (?, ?, ?, ?)", rows)
    shutil.rmtree(folder, ignore_errors=True)  # of a filling that was cut off here
    folder.mkdir()
    return [draft for table in TABLES for draft in _of_table(connection, table, folder / table)]


def _of_table(connection: duckdb.DuckDBPyConnection, table: str, folder: Path) -> Iterator[SealedDraft]:
    at = TABLES[table]
    sql = OWN.replace("$table", table).replace("$at", at) + (COUNTERS if table == "counter_samples" else "")
    files = connection.execute(f"COPY ({sql}) TO {quoted(str(folder))} ({WRITTEN})").fetchall()
    for name, rows, *_ in files:
        path = Path(name)
        yield SealedDraft(table, path.parent.name.removeprefix("run_id="), path, rows)


def _keep_lines(store: Store) -> None:
    """Compute one line for each of the eight configurations, and store it for all its copies."""
    runs, asked_s = store.runs(), time.monotonic()
    first = compute_lines(store, runs[:ARMS])
    of_k = {(run.config.speculative and run.config.speculative.num_tokens): first[run.id] for run in runs[:ARMS]}
    lines = [(run, of_k[run.config.speculative and run.config.speculative.num_tokens]) for run in runs]
    store.cache_run_lines(lines, line_version(), asked_s)
