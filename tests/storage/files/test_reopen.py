"""The store's file is opened anew under whoever reads and writes: nobody notices, and nothing is lost or twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain import Config, Run, RunState
from samples import Batch, CounterSample
from settings import Settings
from storage.queries import run_data
from storage.store import Store

pytestmark = pytest.mark.publishes

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RUN = Run(
    id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW, state=RunState.RUNNING
)
ROWS, REOPENED = 10, 12


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path), clock=lambda: NOW + timedelta(hours=5))
    opened.save_run(RUN)
    yield opened
    opened.close()


def batch(number: int) -> Batch:
    seconds = range(number * ROWS, (number + 1) * ROWS)
    return Batch(
        tuple(
            CounterSample("r1", NOW + timedelta(seconds=s), float(s), "vllm.counter", generation_tokens_total=100.0 * s)
            for s in seconds
        )
    )


def write(store: Store, event: threading.Event) -> int:
    """Batches, one after the other, until it is done; how many."""
    batches = 0
    while not event.is_set():
        store.write(batch(batches)).result(60)
        batches += 1
    return batches


def read(store: Store) -> None:
    run_data.windows(store, ["r1"], 2.0)
    assert [run.id for run in store.runs()] == ["r1"]


def work(store: Store) -> None:
    store.seal()
    store.save_run(RUN.model_copy(update={"note": "still here"}), timeout_s=60)


def repeat(task: Callable[[Store], None], store: Store, event: threading.Event) -> int:
    times = 0
    while not event.is_set():
        task(store)
        times += 1
    return times


@pytest.mark.wide
def test_readers_and_writers_see_each_row_once(store: Store) -> None:
    event = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        others = [pool.submit(repeat, task, store, event) for task in (read, read, work)]
        writing = pool.submit(write, store, event)
        try:
            for _ in range(REOPENED):
                event.wait(0.1)
                store._database.reopen()
        finally:
            event.set()
        assert all(one.result(60) for one in others)
        batches = writing.result(60)
    [row] = store.query("SELECT count(*) AS n, count(DISTINCT mono_s) AS different FROM counter_samples").to_pylist()
    assert batches > 0 and row == {"n": batches * ROWS, "different": batches * ROWS}
