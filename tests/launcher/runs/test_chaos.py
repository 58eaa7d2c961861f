"""Any one part of a run is killed -9 at a random moment: nothing is left over, and every run ends with a cause."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil
import pytest

from domain import Run, RunState, WorkloadSpec
from launcher.processes.descendants import is_living
from launcher.processes.process import server_process, shim_process
from launcher.runs.supervisor import Supervisor
from machine.ports import is_port_free
from tests.launcher.runs.test_adoption import FileStore
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

FINAL = (RunState.FINISHED, RunState.FAILED)


def orphan(directory: Path) -> psutil.Process | None:
    """The server's double fork, which has its command line; pids do not tell, since they start again from low ones."""
    server = server_process(directory)
    forks = (process for process in marked(directory.name) if server and process.cmdline() == server.cmdline())
    return next((process for process in forks if server and process.pid != server.pid), None)


VICTIMS: dict[str, Callable[[Path], psutil.Process | None]] = {
    "server": server_process,
    "shim": shim_process,
    "workload": lambda directory: server_process(directory / "workload"),
    "workload shim": lambda directory: shim_process(directory / "workload"),
    "orphan": orphan,
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


def test_any_kill_leaves_nothing_and_gives_cause(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=load_argv, stop_grace_s=3.0)
    victims = list(VICTIMS)
    for victim, run in zip(victims, strike(supervisor, store, victims, random.Random(1)), strict=True):
        check(victim, run)


def test_orphans_of_killed_api_server_are_ended(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor()
    run = supervisor.launch(request_for("engine-core"))
    ready = wait_for_state(store, run.id, RunState.READY)
    family = wait_for(lambda: len(found := marked(run.id)) == 4 and found)
    roles = {word for process in family for word in process.cmdline()[-1:]}
    assert roles == {"EngineCore", "Worker_TP0", "Worker_TP1", "engine-core"}
    psutil.Process(ready.pid).kill()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FAILED and ended.cause and "SIGKILL" in ended.cause
    assert marked(run.id) == [] and not any(is_living(process) for process in family)


# --- Pitwall itself among the victims --------------------------------------------------------------------------------
PITWALL = """
import dataclasses, pathlib, sys
from domain import WorkloadSpec
from tests.launcher import servers
from tests.launcher.processes import podman
from tests.launcher.runs.test_adoption import make_supervisor
image = sys.argv[2:]
supervisor = make_supervisor(pathlib.Path(sys.argv[1]))
supervisor.adopt_all()
supervisor.start()
print("up", flush=True)
for line in sys.stdin:
    make = (lambda: podman.request(*image, "engine-core")) if image else (lambda: servers.request_for("engine-core"))
    requests = [dataclasses.replace(make(), workload=WorkloadSpec(name="load")) for _ in range(int(line))]
    supervisor.launch_batch(requests, one_after_the_other=False)
    print("launched", flush=True)
"""
AT_ONCE = 4


class Holder:
    """A Pitwall in a process of its own, killed like the others and started again; its servers in `image`, if any."""

    def __init__(self, place: Path, *image: str) -> None:
        self._place, self._image = place, image
        self.store = FileStore(place / "store")
        self.start()

    def start(self) -> None:
        argv = [sys.executable, "-c", PITWALL, str(self._place), *self._image]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._say(None, b"up\n")

    def launch(self, count: int) -> list[Run]:
        ids = {run.id for run in self.store.runs()}
        self._say(count, b"launched\n")
        return [run for run in self.store.runs() if run.id not in ids]

    def _say(self, count: int | None, answer: bytes) -> None:
        assert self._process.stdin and self._process.stdout
        if count is not None:
            self._process.stdin.write(f"{count}\n".encode())
            self._process.stdin.flush()
        assert self._process.stdout.readline() == answer

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


Victims = Mapping[str, Callable[[Path], psutil.Process | None]]
ANYBODY: Victims = {
    **{name: VICTIMS[name] for name in ("server", "shim", "workload", "workload shim")},
    "worker": lambda directory: next((p for p in marked(directory.name) if "Worker_TP1" in p.cmdline()), None),
    "engine core": lambda directory: next((p for p in marked(directory.name) if "EngineCore" in p.cmdline()), None),
}


def storm(pitwall: Holder, launches: int, anybody: Victims, within_s: float) -> Counter[str]:
    """Launch four at a time and kill one victim for each at a random moment; how often each was hit."""
    chance = random.Random(launches)
    hits: Counter[str] = Counter()
    for _ in range(launches // AT_ONCE):
        runs = pitwall.launch(AT_ONCE)
        for run in runs:
            time.sleep(chance.uniform(0.0, within_s))
            victims = chance.sample([*anybody, "pitwall"], k=len(anybody) + 1)
            hits[next(name for name in victims if hit(pitwall, run, anybody.get(name)))] += 1
        for ended in [wait_for_state(pitwall.store, run.id, *FINAL) for run in runs]:
            assert ended.state is RunState.FINISHED or ended.cause, ended
            assert marked(ended.id) == [], ended
            assert ended.config.port and is_port_free(ended.config.port)
            assert all(find(Path(ended.run_dir or "")) is None for find in (shim_process, VICTIMS["workload shim"]))
    return hits


def hit(pitwall: Holder, run: Run, find: Callable[[Path], psutil.Process | None] | None) -> bool:
    """Kill whom `find` finds, or Pitwall; False when nobody is there at this moment of the run's life."""
    if find is None:
        pitwall.kill()
        pitwall.start()
        return True
    try:
        process = find(Path(run.run_dir or ""))
        if process:
            process.kill()
    except psutil.NoSuchProcess:
        return False
    return process is not None


@pytest.mark.parametrize(
    "launches",
    [pytest.param(8, marks=pytest.mark.wide), pytest.param(100, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
)
def test_kill_9_storm_leaves_nothing_behind(
    tmp_path: Path, launches: int, record_testsuite_property: Callable[[str, object], None]
) -> None:
    pitwall = Holder(tmp_path)
    try:
        hits = storm(pitwall, launches, ANYBODY, within_s=0.8)
    finally:
        pitwall.kill()
        for process in [process for run in pitwall.store.runs() for process in marked(run.id)]:
            process.kill()
    runs = pitwall.store.runs()
    assert len(runs) == launches and hits.total() == launches
    record_testsuite_property(f"{launches} launches, hits", dict(hits))
    record_testsuite_property(f"{launches} launches, states", dict(Counter(run.state.value for run in runs)))
