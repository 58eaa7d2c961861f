"""Something in Pitwall itself goes wrong (here: parts replaced by broken ones): one run is told, the others go on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from domain import Run, RunState
from launcher.checks.provenance import UnreadGpus
from launcher.processes.readiness import accepts_connections, probe
from launcher.runs.supervised_runs.launched_run import LaunchedRun
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

FINAL = (RunState.FINISHED, RunState.FAILED)


def broken(*_: object) -> None:
    raise ValueError("broken for this test")


def internal_errors(store: DictStore, run: Run) -> list[str]:
    return [e.text for e in store.events if e.run_id == run.id and e.text.startswith("Internal error in Pitwall")]


def test_raising_step_is_reported_and_isolated(
    supervisor: Supervisor, store: DictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_run, step = supervisor.launch(request_for("never-ready")), LaunchedRun.step
    monkeypatch.setattr(
        LaunchedRun, "step", lambda supervised: broken() if supervised.run.id == broken_run.id else step(supervised)
    )
    other_launch = supervisor.launch(request_for())
    wait_for_state(store, other_launch.id, RunState.READY)
    assert internal_errors(store, broken_run) == ["Internal error in Pitwall: ValueError: broken for this test"]
    assert internal_errors(store, other_launch) == []
    monkeypatch.undo()
    supervisor.stop(broken_run.id)
    wait_for_state(store, broken_run.id, *FINAL)


def test_a_turn_that_breaks_off_is_not_the_last(
    supervisor: Supervisor, store: DictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks: list[None] = []
    monkeypatch.setattr(supervisor, "tick", lambda: broken(ticks.append(None)))
    wait_for(lambda: len(ticks) > 1)
    monkeypatch.undo()
    wait_for_state(store, supervisor.launch(request_for()).id, RunState.READY)


def test_closing_ignores_runs_with_raising_steps(
    supervisor: Supervisor, store: DictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    monkeypatch.setattr(LaunchedRun, "step", broken)
    supervisor.close(stop_servers=True)
    assert internal_errors(store, run)


def no_gpus() -> UnreadGpus:
    raise OSError("no GPUs for this test")


def test_what_it_runs_on_cannot_be_noted(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(gpus=no_gpus)
    run = supervisor.launch(request_for())
    assert wait_for_state(store, run.id, RunState.READY).provenance is None
    assert internal_errors(store, run) == ["Internal error in Pitwall: OSError: no GPUs for this test"]


def test_interrupted_stop_ends_run_and_says_so(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(gpus=no_gpus)
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.cause and ended.cause.endswith("Stopping it failed midway: what remains of it is unknown.")
    assert marked(run.id) == []


def test_raising_explanation_leaves_plain_words(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    run = make_supervisor(explain_failure=broken).launch(request_for("exits"))
    assert wait_for_state(store, run.id, *FINAL).cause == "The server exited with code 3 before it was ready."


def test_impossible_address_does_not_answer() -> None:
    assert not probe("http://127.0.0.1:9/\x7f").is_ready
    assert not accepts_connections(f"http://{'x' * 70}:9")
