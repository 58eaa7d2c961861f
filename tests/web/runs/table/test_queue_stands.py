"""Redraws of the queue on the Runs page: its rows are dear, and a page that is open asks every two seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from domain import Config, Run, RunState
from web.runs.queue_panel import queue_fingerprint


def a_run(number: int, state: RunState, position: float | None) -> Run:
    run = Run(id=f"r{number}", name="r", color=0, config=Config(), machine_id="m", created_at=datetime.now(UTC))
    return run.model_copy(update={"state": state, "queue_position": position})


def test_queue_redraws_on_other_content(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [a_run(number, RunState.QUEUED, number) for number in range(3)]
    live = [a_run(7, RunState.STARTING, 0.5), a_run(8, RunState.READY, None)]
    failed = dict[str, str]()
    supervisor = SimpleNamespace(
        queued_runs=lambda: waiting, live_runs=lambda: live, is_queue_on_hold=False, failed_starts=lambda: failed
    )
    monkeypatch.setattr("web.runs.queue_panel.services", lambda: SimpleNamespace(supervisor=supervisor))
    stood = [queue_fingerprint()]
    live[1] = live[1].model_copy(update={"state": RunState.STOPPING, "phase": "stops"})
    assert queue_fingerprint() == stood[0], "a run that never was in the queue is not shown there"
    live[0] = live[0].model_copy(update={"state": RunState.READY})
    stood.append(queue_fingerprint())
    waiting.reverse()
    stood.append(queue_fingerprint())
    waiting[0] = waiting[0].model_copy(update={"name": "renamed elsewhere"})
    stood.append(queue_fingerprint())
    waiting.pop()
    stood.append(queue_fingerprint())
    supervisor.is_queue_on_hold = True
    stood.append(queue_fingerprint())
    failed["batch"] = "r0"
    stood.append(queue_fingerprint())
    assert len(set(stood)) == len(stood) == 7
