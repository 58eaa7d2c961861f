"""The queue: held, moved, skipped, and the same after a restart."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

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
    return [run.name for run in sorted(ended, key=lambda run: run.started_at or run.created_at)]


def test_a_held_queue_starts_nothing_over_a_restart_and_goes_on_in_the_new_order(
    make_supervisor: Callable[..., Supervisor], store: DictStore
) -> None:
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


def test_the_runs_of_a_batch_sort_as_they_were_given(make_supervisor: Callable[..., Supervisor]) -> None:
    moment = datetime.now(UTC)
    supervisor = make_supervisor(clock=lambda: moment)
    supervisor.hold_queue(True)
    runs = queue_up(supervisor, *"abcdef")
    assert [run.name for run in sorted(runs, key=lambda run: run.id)] == [*"abcdef"]


def test_a_hold_leaves_alone_what_runs_and_what_starts_at_once(
    make_supervisor: Callable[..., Supervisor], store: DictStore
) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    (run,) = queue_up(supervisor, "endless")
    wait_for_state(store, run.id, RunState.RUNNING)
    supervisor.hold_queue(True)
    at_once = supervisor.launch(request_for())
    wait_for_state(store, at_once.id, RunState.READY)
    assert store.run(run.id).state is RunState.RUNNING


def test_a_skipped_run_says_so_and_the_next_one_starts(
    make_supervisor: Callable[..., Supervisor], store: DictStore
) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    endless, following = queue_up(supervisor, "endless", "next")
    wait_for_state(store, endless.id, RunState.RUNNING)
    assert store.run(following.id).state is RunState.QUEUED
    supervisor.skip(endless.id)
    assert wait_for_state(store, following.id, *FINAL).state is RunState.FINISHED
    skipped = store.run(endless.id)
    assert (skipped.state, skipped.note, marked(endless.id)) == (RunState.FINISHED, SKIPPED, [])


def test_what_is_queued_later_comes_later(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv)
    runs = [*queue_up(supervisor, "a", "b"), *queue_up(supervisor, "c")]
    assert started_order(store, runs) == ["a", "b", "c"]
    wait_for(lambda: supervisor.live_runs() == [])


def test_a_run_is_renamed_while_it_waits_while_it_runs_and_when_it_has_ended(
    make_supervisor: Callable[..., Supervisor], store: DictStore
) -> None:
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
