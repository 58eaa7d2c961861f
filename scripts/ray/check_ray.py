"""`make test-ray`: a script starts a real Ray cluster of two nodes and a server on it, and Pitwall launches the script.

`ray start` detaches, twice on this machine; the server is a stand-in for vLLM (stand_in.py), a driver of the cluster.
The script leaves the server running and ends, or becomes the server. In turn nothing, the head's raylet, the other
node's, the driver or the shim is killed with signal 9. All started processes must be known as the run's, and after its
end no process and no shared memory may be left. Prints a table, exits 1 otherwise.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil

from demo.presets import free_ports
from domain import Config, Run, RunState
from launcher.checks.launch_request import LaunchRequest
from launcher.processes.descendants import is_living
from launcher.processes.process import processes_of, server_process, shim_process
from launcher.runs.supervisor import Supervisor
from scripts.vllm.check_vllm import wait_until
from scripts.vllm.check_vllm_end import launching, state_of, words_of
from storage.store import Store

STAND_IN = Path(__file__).with_name("stand_in.py")
NODES = ("127.0.0.1", "127.0.0.2")
READY_WITHIN_S, GONE_WITHIN_S = 300.0, 60.0
STORE_BYTES = 100_000_000  # of objects in shared memory, a node
ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONUNBUFFERED": "1"}
EXPECTED = ("gcs_server", "raylet", "log_monitor", "monitor.py", "dashboard", "agent", "ray::Worker", "stand_in.py")
STOPPED = ("nothing", "shim")  # by us: the server lives on
OWN_LOG = "own.log"
LAUNCHED_BY = "scripts.ray.check_ray"
SHARED, PLASMA = Path("/dev/shm"), "plasma"
MIB = 2**20
Victim = Callable[[Path], psutil.Process | None]


class Outcome(NamedTuple):
    """Result of one launch: what it used, what was left after the run's end, and the recorded cause."""

    script: str
    killed: str
    processes: int
    held_mib: float
    gone_after_s: float
    left: int
    unmet: list[str]
    said: str


def words(process: psutil.Process) -> str:
    """Return the process title, as `ps` shows it."""
    with suppress(psutil.Error, OSError):
        return " ".join(process.cmdline())
    return ""


def raylet(node: int) -> Victim:
    """Return the raylet of this node; they are started in order."""

    def server_process(directory: Path) -> psutil.Process | None:
        of_run = [
            process for process in processes_of(directory) if words(process).partition(" ")[0].endswith("/raylet")
        ]
        return sorted(of_run, key=lambda process: process.create_time())[node]

    return server_process


def driver(directory: Path) -> psutil.Process | None:
    return next((process for process in processes_of(directory) if str(STAND_IN) in words(process)), None)


VICTIMS: dict[str, Victim] = {
    "nothing": lambda _: None,
    "raylet of the head": raylet(0),
    "raylet of the other node": raylet(1),
    "driver": driver,
    "shim": shim_process,
}


def script(ray: Path, folder: Path, port: int, leaves: bool) -> str:
    """Return a script with head, second node and server, as documented, with both nodes on one machine."""
    gcs, dashboard, *agents = free_ports(4)
    start = [str(ray / "bin/ray"), "start", "--num-cpus=1", f"--object-store-memory={STORE_BYTES}"]
    nodes = [
        [*start, "--head", f"--port={gcs}", f"--dashboard-port={dashboard}", f"--temp-dir={folder / 'ray'}"],
        [*start, f"--address={NODES[0]}:{gcs}"],
    ]
    for number, (node, agent) in enumerate(zip(nodes, agents, strict=True)):
        node += [f"--node-ip-address={NODES[number]}", f"--dashboard-agent-listen-port={agent}"]
    server = [str(ray / "bin/python"), str(STAND_IN), str(port), str(len(NODES))]
    lines = ["#!/bin/bash", "set -e", f"export RAY_ADDRESS={NODES[0]}:{gcs}", *map(shlex.join, nodes)]
    last = f"nohup {shlex.join(server)} > {folder / OWN_LOG} 2>&1 &" if leaves else f"exec {shlex.join(server)}"
    return "\n".join([*lines, last, ""])


@contextmanager
def laid_down(ray: Path, leaves: bool) -> Iterator[LaunchRequest]:
    """Write the launch files in a folder with a short name, since Ray's socket paths have a length limit."""
    folder, port = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp")), free_ports(1)[0]
    file = folder / "cluster.sh"
    file.write_text(script(ray, folder, port, leaves))
    config = Config(launcher="script", argv=("bash", str(file)), env=ENVIRONMENT, host="127.0.0.1", port=port)
    try:
        yield LaunchRequest(config, ready_path="/health", ready_timeout_s=READY_WITHIN_S)
    finally:
        shutil.rmtree(folder)


def of_ray(ray: Path, folder: Path) -> list[psutil.Process]:
    """Return all processes on this machine of this Ray or this cluster, whoever started them."""
    marks = (str(ray / "lib"), str(ray / "bin"), str(folder), "ray::")
    processes = [process for process in psutil.process_iter() if any(mark in words(process) for mark in marks)]
    return [
        process
        for process in processes
        if is_living(process) and not {sys.argv[0], LAUNCHED_BY}.intersection(process.cmdline())
    ]


def shared_objects() -> set[str]:
    """Return Ray's object stores in shared memory, by name or, as is usual, open without a name."""
    objects = {str(path) for path in SHARED.iterdir() if PLASMA in path.name}
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            objects.update(mapping.path for mapping in process.memory_maps() if f"{SHARED}/{PLASMA}" in mapping.path)
    return objects


class Check:
    """One launch of the cluster, with one process killed."""

    def __init__(self, supervisor: Supervisor, store: Store, ray: Path, leaves: bool) -> None:
        self._supervisor, self._store, self._ray, self._leaves = supervisor, store, ray, leaves
        self._unmet: list[str] = []

    def kill(self, request: LaunchRequest, victim: str) -> Outcome:
        """Launch, check, kill one process, wait for the run's end, check again."""
        folder, began_with = Path(request.config.argv[-1]).parent, shared_objects()
        run = self._launched(request)
        directory = Path(run.run_dir or "")
        family = self._known(run, directory, folder)
        held_mib = sum(member.memory_info().rss for member in family) / MIB
        self._demand("two object stores are there", len(shared_objects() - began_with) == len(NODES))
        process = VICTIMS[victim](directory)
        if process:
            process.kill()
        began = time.monotonic()
        if victim in STOPPED:
            if process:
                wait_until(lambda: not is_living(process), GONE_WITHIN_S, "it was not killed")
                answered_by(run)
            self._supervisor.stop(run.id)
        wait_until(lambda: state_of(self._store, run).is_final, 3 * GONE_WITHIN_S, "the run did not end")
        gone_after_s = time.monotonic() - began
        leftovers = {*filter(is_living, family), *of_ray(self._ray, folder)}
        self._demand(f"nothing is left: {[words(process)[:80] for process in leftovers]}", not leftovers)
        self._demand("the shared memory is free", not shared_objects() - began_with)
        expected = RunState.FINISHED if victim in STOPPED else RunState.FAILED
        self._demand(f"the run is {expected}", state_of(self._store, run) is expected)
        cause_text = words_of(self._store, run)
        how = "leaves the server" if self._leaves else "becomes the server"
        return Outcome(how, victim, len(family), held_mib, gone_after_s, len(leftovers), self._unmet, cause_text)

    def _launched(self, request: LaunchRequest) -> Run:
        run = self._supervisor.launch(request)
        over = (RunState.QUEUED, RunState.STARTING)
        wait_until(lambda: state_of(self._store, run) not in over, 2 * READY_WITHIN_S, "it was not ready")
        if state_of(self._store, run) is not RunState.READY:
            directory = Path(run.run_dir or "")
            sys.exit(f"not started: {self._store.run(run.id)}\n{(directory / 'server.log').read_text()[-3000:]}")
        answered_by(run)
        return run

    def _known(self, run: Run, directory: Path, folder: Path) -> list[psutil.Process]:
        """Return the run's processes, which must include all of Ray's, with the driver as its server."""
        wait_until(
            lambda: server_process(directory) == driver(directory), GONE_WITHIN_S, "the driver is not its server"
        )
        own_log = str(folder / OWN_LOG if self._leaves else directory / "server.log")
        wait_until(lambda: log_of(self._store, run) == own_log, GONE_WITHIN_S, f"its log is not {own_log}")
        family = processes_of(directory)
        unknown = [
            words(process)[:80] for process in of_ray(self._ray, folder) if process not in family and is_living(process)
        ]
        self._demand(f"all of Ray is of the run: {unknown}", not unknown)
        titles = "\n".join(map(words, family))
        self._demand("each part of Ray is there", all(title_part in titles for title_part in EXPECTED))
        return family

    def _demand(self, demand: str, is_met: bool) -> None:
        self._unmet += [] if is_met else [demand]


def log_of(store: Store, run: Run) -> str | None:
    now = store.run(run.id)
    return now.log_path if now else None


def answered_by(run: Run) -> None:
    """Send a completion that queries every node."""
    answer = httpx.post(f"{run.base_url}/v1/completions", json={"prompt": "one"}, timeout=60.0).raise_for_status()
    if len(set(answer.json()["nodes"])) != len(NODES):
        sys.exit(f"not every node answered: {answer.text}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ray", type=Path, help="an environment with the package ray[default]")
    ray = parser.parse_args().ray.absolute()
    outcomes = []
    with tempfile.TemporaryDirectory() as scratch, launching(Path(scratch)) as (supervisor, store):
        for leaves in (True, False):
            for victim in VICTIMS:
                with laid_down(ray, leaves) as request:
                    outcomes.append(Check(supervisor, store, ray, leaves).kill(request, victim))
                print(outcomes[-1], flush=True)
    print("\n| script | killed | processes | held, MiB | gone after, s | left |\n| --- | --- | --- | --- | --- | --- |")
    for outcome in outcomes:
        figures = f"{outcome.processes} | {outcome.held_mib:.0f} | {outcome.gone_after_s:.1f} | {outcome.left}"
        print(f"| {outcome.script} | {outcome.killed} | {figures} |")
    print(
        "\n".join(
            f"NOT MET ({outcome.script}, {outcome.killed}): {demand}"
            for outcome in outcomes
            for demand in outcome.unmet
        )
    )
    return int(any(outcome.unmet for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
