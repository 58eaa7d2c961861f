"""Any one part of a run is killed -9 at a random moment: nothing is left over, and every run ends with a cause."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from domain import Run, RunState, WorkloadSpec
from launcher.ports import is_port_free
from launcher.process import server_process, shim_process
from launcher.supervisor import Supervisor
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

FINAL = (RunState.FINISHED, RunState.FAILED)
VICTIMS: dict[str, Callable[[Path], psutil.Process | None]] = {
    "server": server_process,
    "shim": shim_process,
    "workload": lambda directory: server_process(directory / "workload"),
    "workload shim": lambda directory: shim_process(directory / "workload"),
    "orphan": lambda directory: marked(directory.name)[1],
}


def load_argv(run: Run, directory: Path) -> list[str]:
    return [sys.executable, "-c", "import time; time.sleep(3)"]


def strike(supervisor: Supervisor, store: DictStore, victims: list[str], chance: random.Random) -> list[Run]:
    """Launch one run per victim, all at once; kill each victim somewhere in its run's life; the runs as they ended."""
    requests = [request_for("forks", workload=WorkloadSpec(name="load")) for _ in victims]
    runs = supervisor.launch_batch(requests, one_after_the_other=False)
    for run, victim in zip(runs, victims, strict=True):
        assert run.run_dir
        find, directory = VICTIMS[victim], Path(run.run_dir)
        wait_for(lambda run=run: store.run(run.id).state is RunState.RUNNING)
        wait_for(lambda directory=directory: (directory / "workload" / "shim.json").exists())
        time.sleep(chance.uniform(0.0, 0.2))
        process = find(directory)
        if process:
            process.kill()
    return [wait_for_state(store, run.id, *FINAL) for run in runs]


def check(victim: str, run: Run) -> None:
    assert run.config.port and is_port_free(run.config.port)
    assert marked(run.id) == [], victim
    if victim in ("server", "workload"):
        assert run.state is RunState.FAILED and run.cause and "SIGKILL" in run.cause
    else:
        assert run.state is RunState.FINISHED, (victim, run.cause)
    if victim in ("shim", "workload shim"):
        assert run.note and "exit code unknown: its supervisor was killed" in run.note


def test_whatever_is_killed_nothing_is_left_and_the_cause_is_told(
    make_supervisor: Callable[..., Supervisor], store: DictStore
) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv, stop_grace_s=3.0)
    victims = list(VICTIMS)
    for victim, run in zip(victims, strike(supervisor, store, victims, random.Random(1)), strict=True):
        check(victim, run)


@pytest.mark.slow
def test_many_times(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv, stop_grace_s=3.0)
    chance = random.Random(2)
    for _ in range(10):
        victims = chance.choices(list(VICTIMS), k=4)
        for victim, run in zip(victims, strike(supervisor, store, victims, chance), strict=True):
            check(victim, run)
