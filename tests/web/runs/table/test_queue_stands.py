"""When the queue of the Runs page is drawn anew: its rows are dear, and a page that is open asks every two seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from domain import Config, Run, RunState
from web.runs.queue_panel import queue_stands


def a_run(number: int, state: RunState, position: float | None) -> Run:
    made = Run(id=f"r{number}", name="r", color=0, config=Config(), machine_id="m", created_at=datetime.now(UTC))
    return made.model_copy(update={"state": state, "queue_position": position})


def test_it_is_drawn_anew_when_what_it_shows_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [a_run(number, RunState.QUEUED, number) for number in range(3)]
    live = [a_run(7, RunState.STARTING, 0.5), a_run(8, RunState.READY, None)]
    supervisor = SimpleNamespace(queued_runs=lambda: waiting, live_runs=lambda: live, is_queue_on_hold=False)
    monkeypatch.setattr("web.runs.queue_panel.services", lambda: SimpleNamespace(supervisor=supervisor))
    stood = [queue_stands()]
    live[1] = live[1].model_copy(update={"state": RunState.STOPPING, "phase": "stops"})
    assert queue_stands() == stood[0], "a run that never was in the queue is not shown there"
    live[0] = live[0].model_copy(update={"state": RunState.READY})
    stood.append(queue_stands())
    waiting.reverse()
    stood.append(queue_stands())
    waiting[0] = waiting[0].model_copy(update={"name": "renamed elsewhere"})
    stood.append(queue_stands())
    waiting.pop()
    stood.append(queue_stands())
    supervisor.is_queue_on_hold = True
    stood.append(queue_stands())
    assert len(set(stood)) == len(stood) == 6
