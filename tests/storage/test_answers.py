"""What several ask at the same moment is computed once, and anew when a row has changed."""

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
from storage.ask.machine_queries import machines
from storage.ask.note_queries import notes
from storage.ask.run_queries import RunFilter, count_runs, find_runs, run_choices
from storage.lists.answers import MOST, SharedAnswers
from storage.lists.live_runs import SAMPLED
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


def test_those_who_ask_while_it_is_computed_wait_for_the_one_answer() -> None:
    answers, asked, may_end = SharedAnswers(lambda: 1), threading.Semaphore(0), threading.Event()
    times = Counted()

    def compute() -> int:
        assert may_end.wait(60)
        return times()

    def ask() -> int:
        asked.release()
        return answers.of("q", compute)

    with ThreadPoolExecutor(50) as pool:
        told = [pool.submit(ask) for _ in range(50)]
        for _ in told:
            assert asked.acquire(timeout=60)
        may_end.set()
        assert {one.result(60) for one in told} == {1}
    assert times.times == 1


def test_another_question_and_another_version_are_computed_anew() -> None:
    version, compute = [1], Counted()
    answers = SharedAnswers(lambda: version[0])
    assert [answers.of(question, compute) for question in ("a", "b", "a")] == [1, 2, 1]
    version[0] = 2
    assert [answers.of(question, compute) for question in ("a", "a")] == [3, 3]


def test_who_asks_after_a_change_does_not_get_what_was_begun_before_it() -> None:
    version, answers = [1], SharedAnswers(lambda: version[0])
    begun, may_end = threading.Event(), threading.Event()

    def old() -> str:
        begun.set()
        assert may_end.wait(60)
        return "old"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: answers.of("q", old))
        assert begun.wait(60)
        version[0] = 2
        assert answers.of("q", lambda: "new") == "new"
        may_end.set()
        assert first.result(60) == "old"
    assert answers.of("q", lambda: "newer") == "new", "the late one takes nobody's place"


def test_a_failure_is_told_and_not_kept() -> None:
    answers = SharedAnswers(lambda: 1)
    with pytest.raises(ZeroDivisionError):
        answers.of("q", lambda: 1 / 0)
    assert answers.of("q", lambda: 1.0) == 1.0


def test_only_so_many_are_kept() -> None:
    answers, compute = SharedAnswers(lambda: 1), Counted()
    for question in range(MOST + 1):
        answers.of(question, compute)
    assert answers.of(MOST, compute) == MOST + 1
    assert answers.of(0, compute) == MOST + 2, "the first has gone"


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.save_run(RUN.model_copy(update={"name": "other"})),
        lambda store: store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"text": "said"})),
        lambda store: store.label_machine("m", "gpu-box"),
        lambda store: store.bin.set_keep_days(30, "operator"),
    ],
)
def test_a_change_of_the_store_is_seen_by_the_next_who_asks(store: Store, change: Callable[[Store], object]) -> None:
    store.save_run(RUN)
    compute = Counted()
    assert [store.answers.of("q", compute) for _ in range(2)] == [1, 1]
    change(store)
    assert store.answers.of("q", compute) == 2


def test_samples_of_a_run_that_goes_on_change_no_answer_and_those_of_one_that_has_ended_do(store: Store) -> None:
    live = RUN.model_copy(update={"state": RunState.READY})
    store.save_run(live)
    store.save_run(RUN.model_copy(update={"id": "r0", "state": RunState.FINISHED}))
    compute = Counted()
    assert store.answers.of("q", compute) == 1
    store.write(sampled("r1")).result(60)
    assert store.answers.of("q", compute) == 1
    store.write(sampled("r0")).result(60)
    assert store.answers.of("q", compute) == 2
    store.save_run(live.model_copy(update={"state": RunState.FINISHED}))
    assert store.answers.of("q", compute) == 3
    store.write(sampled("r1")).result(60)
    assert store.answers.of("q", compute) == 4, "the last of its samples come after its end"


def test_a_run_that_went_on_when_the_store_was_closed_goes_on(tmp_path: Path) -> None:
    settings, compute = Settings(data_dir=tmp_path / "data"), Counted()
    before = Store.open(settings)
    before.save_run(RUN.model_copy(update={"state": RunState.READY}))
    before.close()
    store = Store.open(settings)
    assert store.answers.of("q", compute) == 1
    store.write(sampled("r1")).result(60)
    assert store.answers.of("q", compute) == 1
    store.close()


def test_what_is_shared_is_asked_of_no_sample(store: Store) -> None:
    """So that samples alone need not be a change."""
    store.save_run(RUN.model_copy(update={"state": RunState.FINISHED}))
    store.label_machine("m", "gpu-box")
    store.notes.change(["r1"], "operator", lambda note: note.model_copy(update={"text": "said"}))
    spy = Spy(store)
    wanted = RunFilter(words=("first",), machines=("m",), tags=("t",), fields=(("k", ("2",)),), order_by="stream")
    run_choices(spy)
    find_runs(spy, wanted, 10)
    count_runs(spy, wanted)
    machines(spy)
    notes(spy, ["r1"])
    assert {"runs", "run_notes", "machine_labels"} <= spy.tables, "it sees what is asked at all"
    assert spy.tables & SAMPLED == set()


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
