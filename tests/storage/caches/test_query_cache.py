"""Concurrent queries are computed once, and again when a row has changed."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from domain import Config, Run, RunState
from samples import Batch, HostSample
from settings import Settings
from storage.caches.live_run_ids import SAMPLED_TABLES
from storage.caches.query_cache import MAX_RESULTS, QueryCache, SameObject
from storage.queries.machine_queries import machines
from storage.queries.note_queries import notes
from storage.queries.run_queries import RunFilter, count_runs, find_runs, run_choices
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RUN = Run(id="r1", name="first", color=0, config=Config(), machine_id="m", created_at=NOW)


class Counted:
    """Computes a number more each time."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        return self.times


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path / "data"))
    yield opened
    opened.close()


def test_a_result_is_found_by_the_object_that_it_was_derived_from() -> None:
    answers, times, older, newer = QueryCache(lambda: 1), Counted(), ["a"], ["a"]
    first = answers.get(("rows", SameObject(older)), times)
    assert answers.get(("rows", SameObject(older)), times) == first
    assert answers.get(("rows", SameObject(newer)), times) != first, "equal, but read at another moment"


def test_concurrent_queries_share_one_answer() -> None:
    answers, semaphore, may_end = QueryCache(lambda: 1), threading.Semaphore(0), threading.Event()
    times = Counted()

    def compute() -> int:
        assert may_end.wait(60)
        return times()

    def ask() -> int:
        semaphore.release()
        return answers.get("q", compute)

    with ThreadPoolExecutor(50) as pool:
        told = [pool.submit(ask) for _ in range(50)]
        for _ in told:
            assert semaphore.acquire(timeout=60)
        may_end.set()
        assert {one.result(60) for one in told} == {1}
    assert times.times == 1


def test_other_query_or_version_is_computed_anew() -> None:
    version, compute = [1], Counted()
    answers = QueryCache(lambda: version[0])
    assert [answers.get(question, compute) for question in ("a", "b", "a")] == [1, 2, 1]
    version[0] = 2
    assert [answers.get(question, compute) for question in ("a", "a")] == [3, 3]


def test_query_after_change_gets_no_older_answer() -> None:
    version, answers = [1], QueryCache(lambda: version[0])
    event, may_end = threading.Event(), threading.Event()

    def old() -> str:
        event.set()
        assert may_end.wait(60)
        return "old"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: answers.get("q", old))
        assert event.wait(60)
        version[0] = 2
        assert answers.get("q", lambda: "new") == "new"
        may_end.set()
        assert first.result(60) == "old"
    assert answers.get("q", lambda: "newer") == "new", "the late one takes nobody's place"


def test_a_failure_is_told_and_not_kept() -> None:
    answers = QueryCache(lambda: 1)
    with pytest.raises(ZeroDivisionError):
        answers.get("q", lambda: 1 / 0)
    assert answers.get("q", lambda: 1.0) == 1.0


def test_only_so_many_are_kept() -> None:
    answers, compute = QueryCache(lambda: 1), Counted()
    for question in range(MAX_RESULTS + 1):
        answers.get(question, compute)
    assert answers.get(MAX_RESULTS, compute) == MAX_RESULTS + 1
    assert answers.get(0, compute) == MAX_RESULTS + 2, "the first has gone"


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.save_run(RUN.model_copy(update={"name": "other"})),
        lambda store: store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"text": "said"})),
        lambda store: store.label_machine("m", "gpu-box"),
        lambda store: store.bin.set_keep_days(30, "operator"),
    ],
)
def test_store_change_is_seen_by_the_next_query(store: Store, change: Callable[[Store], object]) -> None:
    store.save_run(RUN)
    compute = Counted()
    assert [store.query_cache.get("q", compute) for _ in range(2)] == [1, 1]
    change(store)
    assert store.query_cache.get("q", compute) == 2


def test_only_ended_run_samples_change_answers(store: Store) -> None:
    live = RUN.model_copy(update={"state": RunState.READY})
    store.save_run(live)
    store.save_run(RUN.model_copy(update={"id": "r0", "state": RunState.FINISHED}))
    compute = Counted()
    assert store.query_cache.get("q", compute) == 1
    store.write(sampled("r1")).result(60)
    assert store.query_cache.get("q", compute) == 1
    store.write(sampled("r0")).result(60)
    assert store.query_cache.get("q", compute) == 2
    store.save_run(live.model_copy(update={"state": RunState.FINISHED}))
    assert store.query_cache.get("q", compute) == 3
    store.write(sampled("r1")).result(60)
    assert store.query_cache.get("q", compute) == 4, "the last of its samples come after its end"


def test_live_run_at_store_close_continues(tmp_path: Path) -> None:
    settings, compute = Settings(data_dir=tmp_path / "data"), Counted()
    before = Store.open(settings)
    before.save_run(RUN.model_copy(update={"state": RunState.READY}))
    before.close()
    store = Store.open(settings)
    assert store.query_cache.get("q", compute) == 1
    store.write(sampled("r1")).result(60)
    assert store.query_cache.get("q", compute) == 1
    store.close()


def test_what_is_shared_is_asked_of_no_sample(store: Store) -> None:
    """So that samples alone need not be a change."""
    store.save_run(RUN.model_copy(update={"state": RunState.FINISHED}))
    store.label_machine("m", "gpu-box")
    store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"text": "said"}))
    spy = Spy(store)
    run_filter = RunFilter(words=("first",), machines=("m",), tags=("t",), fields=(("k", ("2",)),), order_by="stream")
    run_choices(spy)
    find_runs(spy, run_filter, 10)
    count_runs(spy, run_filter)
    machines(spy)
    notes(spy, ["r1"])
    assert {"runs", "run_notes", "machine_labels"} <= spy.tables, "it sees what is asked at all"
    assert spy.tables & SAMPLED_TABLES == set()


class Spy:
    """Answers what a store does, and keeps which tables were read for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.tables: set[str] = set()

    def query(self, sql: str, params: Any = None) -> pa.Table:
        (plan,) = self._store.query(f"EXPLAIN (FORMAT json) {sql}", params)["explain_value"].to_pylist()
        self.tables |= set(re.findall(r'"Table": "store\.raw\.(\w+)"', plan))
        return self._store.query(sql, params)


def sampled(run_id: str) -> Batch:
    return Batch((HostSample(run_id, NOW, 0.0, "m"),))
