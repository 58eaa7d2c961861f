"""The queue: held, moved, skipped, and the same after a restart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain import Run, RunState, WorkloadSpec
from launcher.runs.supervisor import SKIPPED, Supervisor
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

LOAD = WorkloadSpec(name="load")
FINAL = (RunState.FINISHED, RunState.FAILED)


def load_argv(run: Run, directory: Path) -> list[str]:
    seconds = 600 if run.name.startswith("endless") else 0.1
    return [sys.executable, "-c", f"import time; time.sleep({seconds})"]


def queue_up(supervisor: Supervisor, *names: str) -> list[Run]:
    requests = [request_for(name=name, workload=LOAD) for name in names]
    return supervisor.launch_batch(requests, one_after_the_other=True)


def started_order(store: DictStore, runs: list[Run]) -> list[str]:
    ended = [wait_for_state(store, run.id, *FINAL) for run in runs]
    return [run.name for run in sorted(ended, key=lambda run: run.began_at)]


@pytest.mark.wide
def test_held_queue_survives_restart_in_new_order(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    first = make_supervisor(prepare_workload=load_argv)
    first.hold_queue(True)
    runs = queue_up(first, "a", "b", "c", "d")
    by_name = {run.name: run.id for run in runs}
    first.tick()
    first.reorder_queue([by_name["c"], "gone", by_name["a"]])
    assert [run.name for run in first.queued_runs()] == ["c", "a", "b", "d"]
    first.close()
    second = make_supervisor(prepare_workload=load_argv)
    assert second.is_queue_on_hold and [run.name for run in second.queued_runs()] == ["c", "a", "b", "d"]
    second.tick()
    assert second.live_runs() == []
    second.hold_queue(False)
    assert started_order(store, runs) == ["c", "a", "b", "d"]


def test_batch_runs_sort_as_given(make_supervisor: Callable[..., Supervisor]) -> None:
    moment = datetime.now(UTC)
    supervisor = make_supervisor(clock=lambda: moment)
    supervisor.hold_queue(True)
    runs = queue_up(supervisor, *"abcdef")
    assert [run.name for run in sorted(runs, key=lambda run: run.id)] == [*"abcdef"]


def test_hold_spares_active_and_immediate_runs(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    (run,) = queue_up(supervisor, "endless")
    wait_for_state(store, run.id, RunState.RUNNING)
    supervisor.hold_queue(True)
    at_once = supervisor.launch(request_for())
    wait_for_state(store, at_once.id, RunState.READY)
    assert store.run(run.id).state is RunState.RUNNING


def test_skipped_run_says_so_and_next_starts(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    endless, following = queue_up(supervisor, "endless", "next")
    wait_for_state(store, endless.id, RunState.RUNNING)
    assert store.run(following.id).state is RunState.QUEUED
    supervisor.skip(endless.id)
    assert wait_for_state(store, following.id, *FINAL).state is RunState.FINISHED
    skipped = store.run(endless.id)
    assert (skipped.state, skipped.note, marked(endless.id)) == (RunState.FINISHED, SKIPPED, [])


@pytest.mark.wide
def test_what_is_queued_later_comes_later(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    runs = [*queue_up(supervisor, "a", "b"), *queue_up(supervisor, "c")]
    assert started_order(store, runs) == ["a", "b", "c"]
    wait_for(lambda: supervisor.live_runs() == [])


def test_run_is_renamed_in_every_state(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    (run,) = queue_up(supervisor, "endless")
    supervisor.rename(run.id, "while it waits")
    wait_for_state(store, run.id, RunState.RUNNING)
    assert store.run(run.id).name == "while it waits"  # type: ignore[union-attr]
    supervisor.rename(run.id, "while it runs")
    supervisor.skip(run.id)
    assert wait_for_state(store, run.id, *FINAL).name == "while it runs"
    supervisor.rename(run.id, "afterwards")
    assert store.run(run.id).name == "afterwards"  # type: ignore[union-attr]


def launch_kinds(supervisor: Supervisor, *kinds: str) -> list[Run]:
    return supervisor.launch_batch([request_for(kind, workload=LOAD) for kind in kinds], one_after_the_other=True)


def wait_for_hold(supervisor: Supervisor, failed: Run) -> None:
    wait_for(lambda: supervisor.failed_starts() == {failed.batch_id: failed.id})


@pytest.mark.wide
def test_failed_first_start_holds_its_batch(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    first = make_supervisor(prepare_workload=load_argv)
    failing, *rest = launch_kinds(first, "exits", "plain", "plain")
    assert failing.batch_id
    wait_for_hold(first, failing)
    (other,) = queue_up(first, "passes by")
    assert wait_for_state(store, other.id, *FINAL).state is RunState.FINISHED
    first.close()
    second = make_supervisor(prepare_workload=load_argv)
    second.tick()
    assert second.failed_starts() == {failing.batch_id: failing.id} and second.live_runs() == []
    second.release_batch(failing.batch_id)
    assert [wait_for_state(store, run.id, *FINAL).state for run in rest] == [RunState.FINISHED] * 2


def test_released_batch_is_not_held_again(
    make_supervisor: Callable[..., Supervisor], store: DictStore, tmp_path: Path
) -> None:
    first = make_supervisor(prepare_workload=load_argv)
    failing, *_, last = launch_kinds(first, "exits", "exits", "plain")
    assert failing.batch_id
    wait_for_hold(first, failing)
    first.hold_queue(True)
    first.release_batch(failing.batch_id)
    wait_for(lambda: '"failed_starts": {}' in (tmp_path / "runs" / "queue.json").read_text())
    first.close()
    second = make_supervisor(prepare_workload=load_argv)
    second.hold_queue(False)
    assert wait_for_state(store, last.id, *FINAL).state is RunState.FINISHED


@pytest.mark.wide
def test_passing_cause_or_later_failure_goes_on(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(
        prepare_workload=load_argv, explain_failure=lambda run, exit_code: ("Port 8000 is in use by nginx.", None)
    )
    for kinds in (("exits", "plain"), ("plain", "exits", "plain")):
        assert wait_for_state(store, launch_kinds(supervisor, *kinds)[-1].id, *FINAL).state is RunState.FINISHED


def test_cancelled_rest_ends_the_hold(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    failing, waiting = launch_kinds(supervisor, "exits", "plain")
    wait_for_hold(supervisor, failing)
    supervisor.cancel(waiting.id)
    assert supervisor.failed_starts() == {}
    (again,) = supervisor.repeat(failing.id, 1)
    assert wait_for_state(store, again.id, *FINAL).state is RunState.FAILED


def test_study_decides_about_its_failures(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    arms = [request_for(kind, workload=LOAD, arm=kind) for kind in ("exits", "plain")]
    last = supervisor.launch_round(arms, "study")[-1]
    assert wait_for_state(store, last.id, *FINAL).state is RunState.FINISHED
