"""Saving runs under the supervisor's lock: a store that takes nothing holds it up once, not once a run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from domain import Config, Run, RunState
from launcher.runs.recorder import DURABLE_PATIENCE_S, PATIENCE_S, STUCK_PATIENCE_S, RunRecorder
from samples import Batch


class StuckStore:
    """Takes nothing in time, as on a disk that is full, and notes how long it was waited for."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []
        self.is_stuck = True

    def save_run(self, run: Run, timeout_s: float) -> None:
        self.waits_s.append(timeout_s)
        if self.is_stuck:
            raise TimeoutError

    def run(self, run_id: str) -> Run | None:
        return None

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> list[Run]:
        return []

    def names_like(self, name: str) -> list[str]:
        return []

    def runs_of_batch(self, batch_id: str) -> list[Run]:
        return []


def a_run() -> Run:
    return Run(id="r", name="r", color=0, machine_id="m", config=Config(), created_at=datetime.now(UTC))


def test_only_the_first_save_waits_and_one_that_is_taken_ends_that() -> None:
    store, told = StuckStore(), list[Batch]()
    recorder = RunRecorder(store, told.append, lambda: datetime.now(UTC))
    for _ in range(4):
        recorder.save(a_run(), "queued")
    assert store.waits_s == [PATIENCE_S, *[STUCK_PATIENCE_S] * 3]
    assert len(told) == 4, "the events are given on all the same"
    store.is_stuck = False
    recorder.save(a_run(), "queued")
    recorder.save(a_run(), "queued")
    assert store.waits_s[4:] == [STUCK_PATIENCE_S, PATIENCE_S]


def test_one_slow_save_does_not_shorten_the_wait_before_a_start() -> None:
    """On a busy machine a commit may take seconds; a launch is refused only when the store takes nothing."""
    store = StuckStore()
    recorder = RunRecorder(store, lambda batch: None, lambda: datetime.now(UTC))
    recorder.save(a_run(), "queued")
    store.is_stuck = False
    recorder.save_durably(a_run())
    assert store.waits_s == [PATIENCE_S, DURABLE_PATIENCE_S]
    store.is_stuck = True
    for _ in range(2):
        with pytest.raises(TimeoutError):
            recorder.save_durably(a_run())
    assert store.waits_s[2:] == [DURABLE_PATIENCE_S, STUCK_PATIENCE_S]
