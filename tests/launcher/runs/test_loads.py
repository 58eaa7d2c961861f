"""Loads on servers that live: launched or attached, again and again, and never at the cost of the server."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from domain import Config, Run, RunState, WorkloadSpec
from launcher.checks.launch_request import LaunchRefusedError
from launcher.processes.process import load_directories, process_status
from launcher.processes.workload_signals import LoadSignal
from launcher.runs.supervised_runs import launched_run
from launcher.runs.supervisor import Supervisor
from tests.launcher.runs.test_attached import Foreign, foreign
from tests.launcher.runs.test_supervisor import FINAL
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

__all__ = ["foreign"]
SHORT, LONG, BROKEN = (WorkloadSpec(name=name) for name in ("short", "long", "broken"))
SCRIPTS = {
    "short": "print('went through')",
    "long": "import time; time.sleep(600)",
    "broken": "import sys; sys.exit('no memory')",
}


def load_argv(run: Run, directory: Path) -> list[str]:
    assert run.workload
    return [sys.executable, "-c", SCRIPTS[run.workload.name]]


@pytest.fixture
def loading(make_supervisor: Callable[..., Supervisor]) -> Supervisor:
    return make_supervisor(prepare_workload=load_argv, stop_grace_s=3.0)


def attach(supervisor: Supervisor, store: DictStore, server: Foreign) -> Run:
    run = supervisor.attach(server.base_url, Config(), pid=server.process.pid)
    wait_for_state(store, run.id, RunState.READY)
    return run


def loads_of(supervisor: Supervisor, run: Run) -> list[Path]:
    (live,) = [live_run for live_run in supervisor.live_runs() if live_run.id == run.id]
    return load_directories(Path(live.run_dir or ""))


def ended_loads(supervisor: Supervisor, run: Run) -> list[Path]:
    return [path for path in loads_of(supervisor, run) if process_status(path).state == "ended"]


def is_ready(supervisor: Supervisor, run: Run) -> bool:
    return any(live_run.id == run.id and live_run.state is RunState.READY for live_run in supervisor.live_runs())


def test_attached_server_takes_loads_in_turn(loading: Supervisor, store: DictStore, foreign: Foreign) -> None:
    run = attach(loading, store, foreign)
    for count in (1, 2, 3):
        loading.start_load(run.id, SHORT)
        wait_for(lambda count=count: len(ended_loads(loading, run)) == count and is_ready(loading, run))
    assert [path.name for path in loads_of(loading, run)] == ["workload", "workload-2", "workload-3"]
    assert [(path / "workload.log").read_text() for path in loads_of(loading, run)] == ["went through\n"] * 3
    assert foreign.process.poll() is None


def test_launched_server_takes_further_loads(loading: Supervisor, store: DictStore) -> None:
    run = loading.launch(request_for(workload=SHORT, stop_when_done=False))
    wait_for(lambda: store.states(run.id)[-2:] == [RunState.RUNNING, RunState.READY])
    loading.start_load(run.id, BROKEN)
    wait_for(lambda: store.states(run.id)[-2:] == [RunState.RUNNING, RunState.READY])
    wait_for(lambda: "no memory" in (store.run(run.id).note or ""))
    assert "exited with code 1" in store.run(run.id).note
    loading.stop(run.id)
    assert wait_for_state(store, run.id, *FINAL).state is RunState.FINISHED


def test_one_load_at_a_time_on_answering_servers(loading: Supervisor, store: DictStore, foreign: Foreign) -> None:
    run = attach(loading, store, foreign)
    loading.start_load(run.id, LONG)
    with pytest.raises(LaunchRefusedError, match="A load is already running on it"):
        loading.start_load(run.id, SHORT)
    loading.stop(run.id)
    wait_for_state(store, run.id, *FINAL)
    with pytest.raises(LaunchRefusedError, match="is no longer running"):
        loading.start_load(run.id, SHORT)


def test_end_of_watch_ends_load_and_keeps_server(loading: Supervisor, store: DictStore, foreign: Foreign) -> None:
    run = attach(loading, store, foreign)
    loading.start_load(run.id, LONG)
    directory = loads_of(loading, run)[0]
    wait_for(lambda: process_status(directory).state == "alive")
    loading.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert (ended.state, ended.note) == (RunState.FINISHED, "No longer watched.")
    assert process_status(directory).state == "ended"
    assert foreign.process.poll() is None


def test_load_on_attached_server_cancels_alone(loading: Supervisor, store: DictStore, foreign: Foreign) -> None:
    run = attach(loading, store, foreign)
    loading.start_load(run.id, LONG)
    wait_for(lambda: process_status(loads_of(loading, run)[0]).state == "alive")
    loading.steer_workload(run.id, LoadSignal.CANCEL)
    wait_for(lambda: store.states(run.id)[-1] is RunState.READY)
    assert foreign.process.poll() is None


def test_load_outlives_pitwall_and_is_resumed(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    first = make_supervisor(prepare_workload=load_argv)
    run = attach(first, store, foreign)
    first.start_load(run.id, LONG)
    directory = loads_of(first, run)[0]
    wait_for(lambda: process_status(directory).state == "alive")
    first.close()
    second = make_supervisor(prepare_workload=load_argv, stop_grace_s=3.0)
    with pytest.raises(LaunchRefusedError, match="A load is already running on it"):
        second.start_load(run.id, SHORT)
    second.steer_workload(run.id, LoadSignal.CANCEL)
    wait_for(lambda: store.states(run.id)[-1] is RunState.READY)
    second.start_load(run.id, SHORT)
    wait_for(lambda: store.states(run.id)[-2:] == [RunState.RUNNING, RunState.READY])


def workload_logs(run: Run) -> list[str]:
    return [(path / "workload.log").read_text().strip() for path in load_directories(Path(run.run_dir or ""))]


def test_start_takes_all_its_launched_loads(loading: Supervisor, store: DictStore) -> None:
    """One that breaks leaves a server that the next one is put on; at the end the run has failed by it."""
    run = loading.launch(request_for(workload=SHORT, later_workloads=(SHORT, SHORT)))
    ended = wait_for_state(store, run.id, *FINAL)
    assert (ended.state, workload_logs(ended)) == (RunState.FINISHED, ["went through"] * 3)
    states = store.states(run.id)
    assert RunState.READY not in states[states.index(RunState.RUNNING) :], "nobody finds it idle in between"
    run = loading.launch(request_for(workload=SHORT, later_workloads=(BROKEN, SHORT)))
    ended = wait_for_state(store, run.id, *FINAL)
    assert (ended.state, workload_logs(ended)) == (RunState.FAILED, ["went through", "no memory", "went through"])
    assert "exited with code 1" in (ended.cause or "") and "no memory" in (ended.cause or "")


def test_staying_server_takes_further_loads(loading: Supervisor, store: DictStore) -> None:
    run = loading.launch(request_for(workload=SHORT, later_workloads=(SHORT,), stop_when_done=False))
    wait_for(lambda: store.states(run.id)[-2:] == [RunState.RUNNING, RunState.READY])
    assert workload_logs(run) == ["went through"] * 2
    loading.start_load(run.id, SHORT)
    wait_for(lambda: len(ended_loads(loading, run)) == 3 and is_ready(loading, run))


@pytest.mark.parametrize("is_sampled", [True, False])
def test_a_server_is_stopped_after_the_samples_that_follow_its_load(
    make_supervisor: Callable[..., Supervisor],
    store: DictStore,
    monkeypatch: pytest.MonkeyPatch,
    is_sampled: bool,
) -> None:
    """Or some seconds later without them; after an earlier load nothing is waited for.

    Nothing samples the run at first, as after a restart of Pitwall.
    """
    monkeypatch.setattr(launched_run, "SAMPLED_WITHIN_S", 600.0)
    samples, waiting_runs = threading.Event(), list[str]()

    def next_samples(run_id: str) -> Callable[[], bool] | None:
        waiting_runs.append(run_id)
        return samples.is_set if len(waiting_runs) > 1 else None

    supervisor = make_supervisor(prepare_workload=load_argv, stop_grace_s=3.0, next_samples=next_samples)
    run = supervisor.launch(request_for(workload=SHORT, later_workloads=(SHORT,)))
    wait_for(lambda: len(waiting_runs) > 1)
    assert len(ended_loads(supervisor, run)) == 2
    time.sleep(1.0)
    assert store.states(run.id)[-1] is RunState.RUNNING and marked(run.id), "its server lives"
    if is_sampled:
        samples.set()
    else:
        monkeypatch.setattr(supervisor._live.get(run.id), "_sample_deadline_s", 0.0)
    assert wait_for_state(store, run.id, *FINAL).state is RunState.FINISHED
    assert waiting_runs == [run.id] * 2
