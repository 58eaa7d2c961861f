"""Recording runs: they are handed over at once, and who waits for a store that is stuck does so once."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from domain import Config, Run, RunState
from launcher.runs import state_log as recording
from launcher.runs.state_log import StateLog
from samples import Batch
from tests.launcher.servers import StuckStore


def a_run(name: str = "r", **given: object) -> Run:
    run = Run(id=name, name=name, color=0, machine_id="m", config=Config(), created_at=datetime.now(UTC))
    return run.model_copy(update=given)


def recorder_of(store: StuckStore, told: list[Batch]) -> StateLog:
    return StateLog(store, told.append, lambda: datetime.now(UTC))


def test_handover_is_immediate_and_grouped() -> None:
    store, told = StuckStore(), list[Batch]()
    recorder = recorder_of(store, told)
    begun_s = time.monotonic()
    recorder.save_all([a_run("a"), a_run("b")], "queued")
    recorder.save(a_run("a"), "starting")
    assert time.monotonic() - begun_s < 1.0
    assert [[run.id for run in runs] for runs in store.given] == [["a", "b"], ["a"]]
    assert len(told) == 3, "the events are given on all the same"


def test_waiting_is_reported_once_per_while(monkeypatch: pytest.MonkeyPatch) -> None:
    store = StuckStore()
    recorder = recorder_of(store, [])
    monkeypatch.setattr(recording, "STUCK_S", 0.5)
    waited_s = []
    for _ in range(3):
        recorder.save(a_run(), "queued")
        begun_s = time.monotonic()
        recorder.wait_briefly(0.4)
        waited_s.append(time.monotonic() - begun_s)
        if len(waited_s) == 2:
            time.sleep(0.6)
    assert waited_s[0] >= 0.4 > 0.2 > waited_s[1] and waited_s[2] >= 0.4


def test_who_waits_goes_on_when_it_is_stored() -> None:
    store = StuckStore()
    recorder = recorder_of(store, [])
    recorder.save(a_run(), "queued")
    with ThreadPoolExecutor() as pool:
        waiting: Future[None] = pool.submit(recorder.wait_briefly, 60.0)
        store.take_all()
        waiting.result(30)


def test_who_ends_is_given_on_as_it_is() -> None:
    ended = list[Run]()
    recorder = StateLog(StuckStore(), lambda batch: None, lambda: datetime.now(UTC), ended.append)
    recorder.save(a_run(state=RunState.STOPPING), "stopping")
    recorder.save(a_run(state=RunState.FINISHED, note="done"), "done")
    assert [(run.state, run.note) for run in ended] == [(RunState.FINISHED, "done")]
