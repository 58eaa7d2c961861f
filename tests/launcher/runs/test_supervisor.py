from __future__ import annotations

import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from domain import Run, RunState, WorkloadSpec
from launcher.processes.descendants import is_living
from launcher.processes.process import server_process
from launcher.runs.supervisor import Supervisor
from machine import open_files
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

LOAD = WorkloadSpec(name="load")
FINAL = (RunState.FINISHED, RunState.FAILED)


def workload(seconds: float, code: int = 0) -> Callable[[Run, Path], list[str]]:
    script = f"import sys, time; print('load'); time.sleep({seconds}); sys.exit({code})"
    return lambda run, directory: [sys.executable, "-c", script]


def port_of_run(run: Run) -> int:
    assert run.config.port
    return run.config.port


def test_server_is_launched_ready_and_stopped(supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request_for())
    ready = wait_for_state(store, run.id, RunState.READY)
    assert ready.pid and ready.pid_birth_s and ready.pid_started_at and ready.started_at and ready.ready_at
    assert [p.pid for p in marked(run.id)] == [ready.pid]
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and ended.exit_signal == 15 and ended.cause is None and ended.ended_at
    assert marked(run.id) == []
    expected = [RunState.QUEUED, RunState.STARTING, RunState.READY, RunState.STOPPING, RunState.FINISHED]
    assert store.states(run.id) == expected
    states = [event.data["state"] for event in store.events if event.kind == "state" and event.run_id == run.id]
    assert list(dict.fromkeys(states)) == [state.value for state in expected]


def test_open_file_limits_of_server_and_load(
    make_supervisor: Callable[..., Supervisor], store: DictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(open_files, "LIMIT_AT_START", limits[0] - 1)
    supervisor = make_supervisor(prepare_workload=workload(600))
    run = supervisor.launch(request_for(workload=LOAD))
    ready = wait_for_state(store, run.id, RunState.RUNNING)
    assert psutil.Process(ready.pid).rlimit(psutil.RLIMIT_NOFILE) == (limits[0] - 1, limits[1])
    load = wait_for(lambda: server_process(Path(run.run_dir or "") / "workload"))
    assert load.rlimit(psutil.RLIMIT_NOFILE) == limits


def test_immediate_exit_has_code_and_log_tail(supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request_for("exits"))
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FAILED and ended.exit_code == 3 and ended.exit_signal is None
    assert ended.cause == "The server exited with code 3 before it was ready."
    assert ended.cause_line == "it all went wrong"
    assert "it all went wrong" in store.events[-1].data["log_tail"]


def test_the_log_may_explain_a_failure_better(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(explain_failure=lambda run, exit_code: ("Out of memory.", "it all went wrong"))
    ended = wait_for_state(store, supervisor.launch(request_for("exits")).id, *FINAL)
    assert (ended.cause, ended.cause_line) == ("Out of memory.", "it all went wrong")


def test_exit_0_before_ready_has_the_log_cause(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    said = "No such model.", "no such model"
    supervisor = make_supervisor(explain_failure=lambda run, exit_code: said if exit_code is None else None)
    ended = wait_for_state(store, supervisor.launch(request_for("exits-well")).id, *FINAL)
    assert (ended.state, ended.exit_code, ended.cause) == (RunState.FAILED, 0, said[0])


def test_never_ready_server_fails_with_its_phase(supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request_for("never-ready", ready_timeout_s=3.0))
    wait_for_state(store, run.id, RunState.STARTING)
    supervisor.set_phase(run.id, "loading weights 34 %")
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FAILED and ended.cause
    assert "not ready: no progress for 3 s while loading weights 34 %; its last answer: no answer" in ended.cause
    assert marked(run.id) == []


@pytest.mark.parametrize("kind", ["deaf", pytest.param("forks", marks=pytest.mark.wide)])
def test_nothing_is_left_of_a_server_that_resists(
    make_supervisor: Callable[..., Supervisor], store: DictStore, kind: str
) -> None:
    supervisor = make_supervisor(stop_grace_s=0.5)
    run = supervisor.launch(request_for(kind))
    wait_for_state(store, run.id, RunState.READY)
    assert len(marked(run.id)) == (2 if kind == "forks" else 1)
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and ended.exit_signal == (9 if kind == "deaf" else 15)
    assert marked(run.id) == []
    assert any("SIGKILL" in action for action in store.events[-1].data["actions"])


def test_unmarked_orphan_descendant_is_found(supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request_for("hides"))
    wait_for_state(store, run.id, RunState.READY)
    word = f"hidden-{port_of_run(run)}"
    (hidden,) = wait_for(lambda: [p for p in psutil.process_iter(["cmdline"]) if word in (p.info["cmdline"] or [])])
    supervisor.stop(run.id)
    wait_for_state(store, run.id, *FINAL)
    assert not is_living(hidden)


@pytest.mark.parametrize(("kind", "state"), [("leaves", RunState.FINISHED), ("leaves-badly", RunState.FAILED)])
def test_a_server_that_dies_is_noticed(supervisor: Supervisor, store: DictStore, kind: str, state: RunState) -> None:
    run = supervisor.launch(request_for(kind))
    wait_for_state(store, run.id, RunState.READY)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{run.base_url}/leave")
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is state and ended.exit_code == int(kind == "leaves-badly")
    assert (ended.cause or ended.note) in ("The server exited with code 1.", "The server ended by itself.")


def test_exit_0_with_dead_engine_is_failure(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    said = "The engine core died.", "engine core exited unexpectedly"
    supervisor = make_supervisor(explain_failure=lambda run, exit_code: said if exit_code == 0 else None)
    run = supervisor.launch(request_for("leaves"))
    wait_for_state(store, run.id, RunState.READY)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{run.base_url}/leave")
    ended = wait_for_state(store, run.id, *FINAL)
    assert (ended.state, ended.exit_code, ended.cause) == (RunState.FAILED, 0, said[0])


def test_killed_by_the_kernel_is_said_so(supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    marked(run.id)[0].kill()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.exit_signal == 9 and ended.cause
    assert ended.cause.endswith("(SIGKILL), perhaps out of memory.")


# --- workload -------------------------------------------------------------------------------------------------------
def test_end_of_workload_stops_the_server(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=workload(0.5))
    run = supervisor.launch(request_for(workload=LOAD))
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and RunState.RUNNING in store.states(run.id)
    assert run.run_dir and (Path(run.run_dir) / "workload" / "workload.log").read_text() == "load\n"


def test_a_run_may_stay_ready_after_its_workload(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=workload(0.1))
    run = supervisor.launch(request_for(workload=LOAD, stop_when_done=False))
    wait_for(lambda: store.states(run.id)[-2:] == [RunState.RUNNING, RunState.READY])
    supervisor.tick()
    assert store.run(run.id).state is RunState.READY


def test_a_workload_that_fails_makes_a_failed_run(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=workload(0, code=3))
    ended = wait_for_state(store, supervisor.launch(request_for(workload=LOAD)).id, *FINAL)
    assert (ended.state, ended.cause) == (RunState.FAILED, "The workload exited with code 3. load")


def test_stop_ends_the_workload_too(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=workload(600))
    run = supervisor.launch(request_for(workload=LOAD))
    wait_for(lambda: len(marked(run.id)) == 2)
    supervisor.stop(run.id)
    assert wait_for_state(store, run.id, *FINAL).state is RunState.FINISHED
    assert marked(run.id) == []


# --- the queue ------------------------------------------------------------------------------------------------------
@pytest.mark.wide
def test_queue_passes_failed_and_cancelled_runs(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=workload(0.3))
    kinds = ["plain", "exits", "plain", "plain"]
    runs = supervisor.launch_batch([request_for(kind, workload=LOAD) for kind in kinds], one_after_the_other=True)
    assert [run.name for run in runs] == ["plain", "exits", "plain (2)", "plain (3)"]
    assert [run.color for run in runs] == [0, 1, 0, 0], "a colour for each configuration"
    assert len({run.batch_id for run in runs}) == 1
    supervisor.cancel(runs[2].id)
    last = wait_for_state(
        store,
        runs[3].id,
        *FINAL,
    )
    ended = [store.run(run.id) for run in runs]
    assert [run.state.value for run in ended] == ["finished", "failed", "finished", "finished"]
    assert ended[2].started_at is None and ended[2].note == "Cancelled before it started."
    assert ended[0].ended_at <= ended[1].started_at and ended[1].ended_at <= last.started_at


def test_a_batch_at_once_runs_side_by_side(supervisor: Supervisor, store: DictStore) -> None:
    runs = supervisor.launch_batch([request_for(), request_for()], one_after_the_other=False)
    for run in runs:
        wait_for_state(store, run.id, RunState.READY)
    assert len(supervisor.live_runs()) == 2


# --- what a sudden end leaves half done (set up by hand: the moments are too short to hit) ----------------------------
def test_next_pitwall_makes_the_announced_start(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    first = make_supervisor()
    first.close()
    run = first.launch(request_for())
    store.save_run(run.model_copy(update={"state": RunState.STARTING, "started_at": run.created_at}))
    make_supervisor()
    assert wait_for_state(store, run.id, RunState.READY, *FINAL).state is RunState.READY


def test_next_pitwall_starts_announced_workload(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    first = make_supervisor(prepare_workload=workload(0.1))
    run = first.launch(request_for(workload=LOAD.model_copy(update={"name": "watch"})))
    ready = wait_for_state(store, run.id, RunState.READY)
    first.close()
    store.save_run(ready.model_copy(update={"state": RunState.RUNNING, "workload": LOAD}))
    make_supervisor(prepare_workload=workload(0.1))
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and ended.run_dir
    assert (Path(ended.run_dir) / "workload" / "workload.log").read_text() == "load\n"


def test_a_run_directory_that_is_gone_is_told(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    first = make_supervisor()
    first.close()
    run = first.launch(request_for())
    assert run.run_dir
    shutil.rmtree(run.run_dir)
    make_supervisor()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.cause and ended.cause.startswith("The server could not be started: No such file or directory (")


def test_server_without_directory_can_be_stopped(supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request_for())
    wait_for_state(store, run.id, RunState.READY)
    assert run.run_dir
    shutil.rmtree(run.run_dir)
    supervisor.tick()
    assert store.run(run.id).state is RunState.READY
    supervisor.stop(run.id)
    assert wait_for_state(store, run.id, *FINAL).exit_code is None
    assert marked(run.id) == []
