"""Throughput of the store's writer in rows per second, and commit times at 2,000 rows/s with concurrent readers.

    python -m benchmarks.store_write [seconds]

The baseline is what DuckDB does in one process without Pitwall: the same Arrow tables, INSERT ... SELECT, one
transaction per batch, nothing published.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np

from samples import Batch, CounterSample
from settings import Settings
from storage.catalog import migrate
from storage.rows import tables_of
from storage.store import Store

START = datetime(2026, 11, 20, tzinfo=UTC)
ROWS_PER_BATCH = 200
PACED_BATCHES_PER_S = 10  # 2,000 rows/s


def batches(count: int) -> list[Batch]:
    """Return counters of 8 runs as they come from the collectors."""
    return [Batch(tuple(sample(f"run-{i % 8}", n) for i in range(ROWS_PER_BATCH))) for n in range(count)]


def sample(run_id: str, n: int) -> CounterSample:
    return CounterSample(
        run_id,
        START + timedelta(seconds=n),
        float(n),
        "vllm.counter",
        generation_tokens_total=50.0 * n,
        first_tokens_total=1.0,
        inter_token_count_total=25.0 * n,
        accepted_per_pos_total=[1.0 * n, 0.5 * n],
        requests_running=4.0,
    )


def flat_out(store: Store, batch_list: list[Batch]) -> float:
    """Return rows per second with as many rows as the store accepts."""
    began_s = time.perf_counter()
    for future in [store.write(batch) for batch in batch_list]:
        future.result()
    return len(batch_list) * ROWS_PER_BATCH / (time.perf_counter() - began_s)


def bare_duckdb(path: Path, batch_list: list[Batch]) -> float:
    """Return rows per second of INSERT ... SELECT from the same Arrow tables, one transaction per batch."""
    with duckdb.connect(str(path)) as connection:
        migrate(connection)
        connection.execute("SELECT ?", [1])  # the first parameter of a process imports pandas
        began_s = time.perf_counter()
        for batch in batch_list:
            connection.register("incoming", tables_of(batch.samples)["counter_samples"])
            connection.execute("INSERT INTO raw.counter_samples SELECT * FROM incoming")
        return len(batch_list) * ROWS_PER_BATCH / (time.perf_counter() - began_s)


def paced(store: Store, batch_list: list[Batch]) -> list[float]:
    """Return the milliseconds from `write` to durable for each batch, at 2,000 rows per second."""
    waits: list[float] = []
    began_s = time.perf_counter()
    for number, batch in enumerate(batch_list):
        time.sleep(max(0.0, began_s + number / PACED_BATCHES_PER_S - time.perf_counter()))
        asked_s = time.perf_counter()
        last = store.write(batch)
        last.add_done_callback(_noting(waits, asked_s))
    last.result()
    return waits


def _noting(waits: list[float], asked_s: float) -> Callable[[Future[None]], None]:
    return lambda _future: waits.append((time.perf_counter() - asked_s) * 1e3)


def main(seconds: float) -> None:
    batch_list = batches(int(seconds * PACED_BATCHES_PER_S))
    with tempfile.TemporaryDirectory() as folder:
        bare = bare_duckdb(Path(folder) / "bare.duckdb", batch_list)
        store = Store.open(Settings(data_dir=Path(folder) / "flat"))
        flat = flat_out(store, batch_list)
        store.close()
        store = Store.open(Settings(data_dir=Path(folder) / "paced"))
        cpu_s, began_s = time.process_time(), time.perf_counter()
        waits = paced(store, batch_list)
        cpu = (time.process_time() - cpu_s) / (time.perf_counter() - began_s)
        published_ms = store.health().publish_ms
        store.close()
    p50, p99 = np.percentile(waits, [50, 99])
    rows = len(batch_list) * ROWS_PER_BATCH
    print("| rows | bare DuckDB | writer | ratio | at 2,000 rows/s: commit p50 | p99 | CPU | last publish |")
    print("|---|---|---|---|---|---|---|---|")
    speeds = f"{bare:,.0f} rows/s | {flat:,.0f} rows/s | {flat / bare:.2f}"
    print(f"| {rows:,} | {speeds} | {p50:.0f} ms | {p99:.0f} ms | {cpu:.0%} of a core | {published_ms:.0f} ms |")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
