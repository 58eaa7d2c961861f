"""The loop's promises: who fails or hangs stops nobody, troubles are told once, an ended run gets its last ticks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from collectors.base import Clock, Collector, OutageError, UnavailableError
from collectors.logs.requests import RequestReader
from collectors.logs.tail_collector import FollowCollector
from collectors.loop import CollectorLoop
from collectors.worker import MAX_UNCOMMITTED, Worker
from domain import Run, RunState
from samples import Batch, CollectorHealth, Event


class Scripted(Collector):
    """Does in each tick what the test's function does."""

    def __init__(self, name: str, act: Callable[[], None] = lambda: None, period_s: float = 0.02) -> None:
        self.name, self.period_s, self._act = name, period_s, act
        self.ticks = self.finished = self.forgotten = 0

    def collect(self, run: Run) -> Iterable[Batch]:
        self.ticks += 1
        self._act()
        return [Batch((Event(run.id, Clock().utc(), "sample", self.name),))]

    def finish(self, run: Run) -> Iterable[Batch]:
        self.finished += 1
        return [Batch((Event(run.id, Clock().utc(), "last", f"{self.name} {run.state}"),))]

    def forget(self, run_id: str) -> None:
        self.forgotten += 1


@pytest.fixture
def loops() -> Iterator[Callable[..., CollectorLoop]]:
    collector_loops: list[CollectorLoop] = []

    def make(*args: Any, **kwargs: Any) -> CollectorLoop:
        collector_loops.append(CollectorLoop(*args, update_every_s=0.02, **kwargs))
        collector_loops[-1].start()
        return collector_loops[-1]

    yield make
    for loop in collector_loops:
        loop.stop(1.0)


def event_texts(kept: Any, kind: str) -> list[str]:
    return [e.text for e in kept.of(Event) if e.kind == kind]


def test_one_that_fails_or_hangs_stops_no_other(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    never = threading.Event()
    bad, stuck, good = Scripted("bad", lambda: 1 / 0), Scripted("stuck", lambda: [never.wait()]), Scripted("good")
    loop = loops(kept, lambda: [make_run()], [bad, stuck, good])
    kept.wait_for(lambda: good.ticks > 5 and bad.ticks > 5)
    assert stuck.ticks == 1
    assert loop.stop(0.3) == ["stuck"]
    never.set()
    (text,) = event_texts(kept, "collector")
    assert "ZeroDivisionError" in text, "once, though it failed each tick"


def test_stuck_store_does_not_delay_a_runs_end(make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """The word about a collector that hangs is given without the lock that Stop needs."""
    monkeypatch.setattr("collectors.loop.HANG_S", 0.0)
    never, event = threading.Event(), threading.Event()

    def sink(batch: Batch) -> None:
        event.set()
        never.wait()

    loop = CollectorLoop(sink, lambda: [make_run()], [Scripted("stuck", lambda: [never.wait()])], update_every_s=0.01)
    loop.start()
    assert event.wait(60)
    ending = threading.Thread(target=loop.end, args=(make_run(),), daemon=True)
    ending.start()
    ending.join(60)
    assert not ending.is_alive()
    never.set()
    loop.stop(1.0)


def test_health_kept_on_change_and_each_minute(kept: Any, make_run: Callable[..., Run]) -> None:
    seconds, troubles = [0.0], iter([None, None, OutageError("gone"), OutageError("gone"), None, None])

    def act() -> None:
        trouble = next(troubles)
        if trouble:
            raise trouble

    worker = Worker(Scripted("x", act), make_run(), kept, Clock(mono_s=lambda: seconds[0]))
    for step in (1, 1, 1, 1, 1, 1):
        worker._tick(worker.collector.collect)
        seconds[0] += step
    health = [(h.ok, h.error) for h in kept.of(CollectorHealth)]
    assert health == [(True, None), (False, "gone"), (True, None)]
    assert event_texts(kept, "outage") == ["gone", "x answers again after 2 s"]
    worker.collector._act = lambda: None  # type: ignore[attr-defined]
    seconds[0] += 61
    worker._tick(worker.collector.collect)
    assert len(kept.of(CollectorHealth)) == 4


@pytest.mark.parametrize("state", [RunState.STOPPING, RunState.FAILED])
def test_server_stopped_in_outage_stays_silent(kept: Any, make_run: Callable[..., Run], state: RunState) -> None:
    def raise_outage() -> None:
        raise OutageError("gone")

    collector = Scripted("x", raise_outage)
    worker = Worker(collector, make_run(), kept, Clock())
    worker._tick(collector.collect)
    collector._act = lambda: None  # silence is to be expected of it now, and is no outage
    worker.update(make_run(state=state))
    worker._tick(collector.collect)
    assert event_texts(kept, "outage") == ["gone"]
    assert [h.ok for h in kept.of(CollectorHealth)] == [False]


def test_unavailability_is_said_once_then_retried(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    runs = [make_run()]

    def act() -> None:
        if runs[0].pid is None:
            raise UnavailableError("no NVIDIA driver on this machine")

    collector = Scripted("gpu", act)
    loops(kept, lambda: runs, [collector])
    kept.wait_for(lambda: event_texts(kept, "collector"))
    assert collector.ticks == 1, "its next tick is a minute away"
    runs[0] = make_run(pid=1)
    kept.wait_for(lambda: event_texts(kept, "sample"))
    assert event_texts(kept, "collector") == ["no NVIDIA driver on this machine"]


@pytest.mark.parametrize("at_once", [True, False])
def test_refused_samples_are_collected_again(
    tmp_path: Path, kept: Any, make_run: Callable[..., Run], at_once: bool
) -> None:
    log, refusing = tmp_path / "requests.jsonl", [True]
    log.write_bytes(b"one\ntwo\n")

    def sink(batch: Batch) -> Future[None]:
        if not (refusing[0] and batch.positions):
            return kept(batch)  # type: ignore[no-any-return]
        if at_once:
            raise OSError("disk full")
        failed: Future[None] = Future()
        failed.set_exception(OSError("disk full"))
        return failed

    collector = FollowCollector("log", lambda _: log, lambda _: RequestReader(), kept.position)
    worker = Worker(collector, make_run(), sink, Clock())
    worker._tick(collector.collect)
    assert event_texts(kept, "collector") == ["the store rejected a batch: disk full"]
    assert event_texts(kept, "warning") == []
    refusing[0] = False
    worker._tick(collector.collect)
    assert len(event_texts(kept, "warning")) == 2, "both lines, once"
    assert [text.partition(" after ")[0] for text in event_texts(kept, "collector")[1:]] == ["log answers again"]


def test_failing_run_list_keeps_the_loop_alive(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    calls = iter([RuntimeError("store busy"), [make_run()]])

    def live() -> list[Run]:
        given_calls = next(calls, [make_run()])
        if isinstance(given_calls, Exception):
            raise given_calls
        return given_calls

    collector = Scripted("x")
    loops(kept, live, [collector])
    kept.wait_for(lambda: collector.ticks)


def test_hanging_collector_is_reported_once(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    seconds, released = [0.0], threading.Event()
    stuck = Scripted("stuck", lambda: [released.wait()])
    loops(kept, lambda: [make_run()], [stuck], clock=Clock(mono_s=lambda: seconds[0]))
    kept.wait_for(lambda: stuck.ticks)
    seconds[0] = 31.0
    kept.wait_for(lambda: event_texts(kept, "collector"))
    released.set()
    kept.wait_for(lambda: len(event_texts(kept, "collector")) == 2)
    assert event_texts(kept, "collector") == ["stuck: no answer for 31 s", "stuck answers again after 31 s"]
    assert [h.ok for h in kept.of(CollectorHealth)] == [False, True]


def test_new_file_brings_the_turn_forward(tmp_path: Path, loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    log = tmp_path / "requests.jsonl"
    collector = FollowCollector("log", lambda _: log, lambda _: RequestReader(), kept.position, period_s=3600)
    loops(kept, lambda: [make_run()], [collector])
    kept.wait_for(lambda: kept.of(CollectorHealth))

    def write_and_look() -> list[str]:
        draft = tmp_path / "draft"
        draft.write_bytes(b"not a record\n")
        draft.replace(log)
        return event_texts(kept, "warning")

    kept.wait_for(write_and_look)


class Endless(Scripted):
    """A tick that has no end, as that of a log of gigabytes."""

    def collect(self, run: Run) -> Iterator[Batch]:
        while True:
            self.ticks += 1
            yield Batch((Event(run.id, Clock().utc(), "sample", self.name),))


def test_only_the_excessive_collector_waits(loops: Any, kept: Any, make_run: Any) -> None:
    rows: list[Future[None]] = []
    takes_all = threading.Event()

    def sink(batch: Batch) -> Any:
        if getattr(batch.samples[0], "text", "") != "greedy":
            return kept(batch)
        rows.append(Future())
        if takes_all.is_set():
            rows[-1].set_result(None)
        return rows[-1]

    greedy, modest = Endless("greedy"), Scripted("modest")
    loop = loops(sink, lambda: [make_run()], [greedy, modest])
    kept.wait_for(lambda: greedy.ticks > MAX_UNCOMMITTED and modest.ticks > 5)
    assert greedy.ticks == MAX_UNCOMMITTED + 1
    takes_all.set()
    for future in list(rows):
        future.set_result(None)
    kept.wait_for(lambda: greedy.ticks > MAX_UNCOMMITTED + 10)
    assert loop.stop(10.0) == []
    assert greedy.forgotten == modest.forgotten == 1


def test_long_tick_ends_with_pitwall(loops: Any, kept: Any, make_run: Any) -> None:
    endless = Endless("endless")
    loop = loops(kept, lambda: [make_run()], [endless])
    kept.wait_for(lambda: endless.ticks > 100)
    assert loop.stop(10.0) == []
