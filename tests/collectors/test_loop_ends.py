"""The loop at the end of a run: its last ticks, once, also after Pitwall was away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from collectors.base import OutageError
from domain import Run
from tests.collectors.test_loop import Scripted, event_texts
from tests.collectors.test_loop import loops as loops


def test_a_run_that_ends_gets_its_last_turns_once(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    runs = [make_run()]
    collector = Scripted("x")
    loop = loops(kept, lambda: list(runs), [collector])
    kept.wait_for(lambda: collector.ticks > 1)
    ended = make_run(state="finished")
    assert loop.finish(ended)
    assert event_texts(kept, "last") == ["x finished"]
    assert loop.finish(ended) and loop.finish(ended)
    runs.clear()
    time.sleep(0.1)
    assert (collector.finished, collector.forgotten) == (1, 1)


def test_no_longer_live_run_is_finished(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    runs = [make_run()]
    collector = Scripted("x")
    loops(kept, lambda: list(runs), [collector])
    kept.wait_for(lambda: collector.ticks)
    runs.clear()
    kept.wait_for(lambda: event_texts(kept, "last"))


def test_run_ended_during_absence_is_taken_in(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    collector = Scripted("x")
    loop = loops(kept, list, [collector])
    loop.end(make_run(state="failed"))
    loop.end(make_run(state="failed"))
    assert loop.finish(make_run(state="failed"))
    assert (collector.ticks, event_texts(kept, "last")) == (0, ["x failed"])


def test_stopping_is_not_an_end_of_the_runs(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    collector = Scripted("x")
    loop = loops(kept, lambda: [make_run()], [collector])
    kept.wait_for(lambda: collector.ticks)
    assert loop.stop() == []
    assert (collector.finished, collector.forgotten) == (0, 1)


def test_final_outage_is_not_called_over(loops: Any, kept: Any, make_run: Callable[..., Run]) -> None:
    def act() -> None:
        raise OutageError("gone")

    loop = loops(kept, lambda: [make_run()], [Scripted("x", act)])
    kept.wait_for(lambda: event_texts(kept, "outage"))
    assert loop.finish(make_run())
    assert event_texts(kept, "outage") == ["gone"]


def test_next_samples_are_those_of_a_tick_that_begins_later(
    loops: Any, kept: Any, make_run: Callable[..., Run]
) -> None:
    """One that fails or hangs is not waited for."""
    goes_on, never = threading.Event(), threading.Event()

    def fail() -> None:
        raise OutageError("gone")

    slow, failing = Scripted("slow", goes_on.wait), Scripted("failing", fail)
    loop = loops(kept, lambda: [make_run()], [slow, failing, Scripted("stuck", never.wait)])
    kept.wait_for(lambda: slow.ticks == 1 and event_texts(kept, "outage"))
    has_samples = loop.next_samples(make_run().id)
    assert has_samples
    assert not has_samples(), "the tick in progress has begun before"
    goes_on.set()
    kept.wait_for(lambda: slow.ticks > 2)
    assert not has_samples(), "one may still answer"
    loop._hanging.update(worker for workers in loop._workers.values() for worker in workers if worker.busy_since)
    assert has_samples()
    assert loop.next_samples("another run") is None
    never.set()
