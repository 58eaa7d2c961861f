"""A process is known again whatever is done to the machine's clock.

The kernel's clock cannot be set in a test: a boot time that is moved stands in for it, for that is all that psutil
sees of a step.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from collectors.machine.processes import ProcessTable
from domain import Config, RunState, utc_now
from launcher.processes.process import process_status, processes_of, shim_process
from launcher.runs.supervisor import Supervisor
from machine.process_start import process_start_s, started_at_boot_s
from tests.launcher.servers import DictStore, request_for, wait_for, wait_for_state


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process.pid
        process.kill()


@pytest.fixture(params=[3600.0, -3600.0], ids=["set forward", "set back"])
def step_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    boot_time = psutil._pslinux.boot_time

    def step() -> None:
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: boot_time() + request.param)

    return step


def test_birth_belongs_to_its_process_alone(sleeper: int) -> None:
    assert 0 < process_start_s(os.getpid()) <= process_start_s(sleeper)
    assert started_at_boot_s(sleeper, process_start_s(sleeper))
    assert not started_at_boot_s(sleeper, process_start_s(sleeper) - 0.01)
    with pytest.raises(psutil.NoSuchProcess):
        process_start_s(2**22 + 1)


def test_name_with_blanks_and_brackets_is_parsed(tmp_path: Path) -> None:
    program = tmp_path / "a ) (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "600"]) as process:
        assert abs(process_start_s(process.pid) - psutil.Process(process.pid).create_time() + psutil.boot_time()) < 1.5
        process.kill()


def test_a_tree_is_the_same_after_a_step(sleeper: int, step_clock: Callable[[], None]) -> None:
    table, start_s = ProcessTable(), process_start_s(os.getpid())
    before = {process.pid for process in table.tree(os.getpid(), start_s, 0.0)}
    step_clock()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as later:
        pids = {process.pid for process in table.tree(os.getpid(), start_s, 10.0)}
        anew = {process.pid for process in ProcessTable().tree(os.getpid(), start_s, 10.0)}
        later.kill()
    assert sleeper in before
    assert pids == anew == before | {later.pid}


def test_a_server_is_still_ours_after_a_step(
    make_supervisor: Callable[..., Supervisor], store: DictStore, step_clock: Callable[[], None]
) -> None:
    first = make_supervisor()
    run = first.launch(request_for())
    ready = wait_for_state(store, run.id, RunState.READY)
    step_clock()
    directory = Path(str(ready.run_dir))
    assert process_status(directory).state == "alive" and process_status(directory).pid == ready.pid
    assert shim_process(directory) and ready.pid in {process.pid for process in processes_of(directory)}
    first.close()
    second = make_supervisor()
    assert [live.id for live in second.live_runs()] == [run.id]
    second.tick()
    assert store.run(run.id) == second.live_runs()[0], "nothing was thought to have happened to it"
    second.stop(run.id)
    ended = wait_for_state(store, run.id, RunState.FINISHED, RunState.FAILED)
    assert ended.state is RunState.FINISHED and not psutil.pid_exists(int(str(ready.pid)))


def test_attached_server_survives_a_clock_step(
    supervisor: Supervisor, store: DictStore, sleeper: int, step_clock: Callable[[], None]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        run = supervisor.attach(url, Config(), pid=sleeper)
        step_clock()
        for _ in range(3):
            supervisor.tick()
    assert not store.run(run.id).state.is_final


@pytest.mark.parametrize("step", [timedelta(hours=1), timedelta(hours=-1)])
def test_clock_step_is_not_in_time_to_ready(store: DictStore, tmp_path: Path, step: timedelta) -> None:
    offset = [timedelta()]
    supervisor = Supervisor(
        store, tmp_path / "runs", events=store.take, clock=lambda: utc_now() + offset[0], stop_grace_s=5.0
    )
    gate = tmp_path / "gate"  # or a fast server would be ready before the step
    run = supervisor.launch(request_for(f"gated:{gate}", ready_timeout_s=600.0))
    wait_for(lambda: supervisor.tick() or store.run(run.id).pid, 120)
    offset[0] = step
    gate.touch()
    wait_for(lambda: supervisor.tick() or store.run(run.id).state is not RunState.STARTING, 120)
    ready = store.run(run.id)
    supervisor.close(stop_servers=True)
    assert ready.state is RunState.READY, ready.cause
    assert timedelta() <= ready.ready_at - ready.started_at < timedelta(minutes=30)
    assert abs(ready.ready_at - utc_now() - step) < timedelta(minutes=5)


def test_refusal_with_clock_step_is_no_departure(store: DictStore, tmp_path: Path) -> None:
    offset = [timedelta()]
    supervisor = Supervisor(store, tmp_path / "runs", events=store.take, clock=lambda: utc_now() + offset[0])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        run = supervisor.attach(f"http://127.0.0.1:{listening.getsockname()[1]}", Config())
    for hours in (0, 1, 2):
        offset[0] = timedelta(hours=hours)
        for _ in range(5):
            supervisor.tick()
            time.sleep(0.05)  # for the answer
    assert not store.run(run.id).state.is_final
    supervisor.close()
