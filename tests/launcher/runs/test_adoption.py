"""Pitwall is killed at any moment; servers and workloads live on and the next Pitwall takes them back."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from domain import Run, RunState, WorkloadSpec
from launcher.processes.process import load_directories
from launcher.runs.supervisor import Supervisor
from samples import Batch
from tests.launcher.servers import marked, request_for, stored_at_once, wait_for, wait_for_state
from tests.ports import free_ports

FINAL = (RunState.FINISHED, RunState.FAILED)
HOLDER = """
import sys, time, pathlib
from domain import Config, WorkloadSpec
from launcher.checks.launch_request import LaunchRequest
from tests.launcher.runs.test_adoption import FileStore, make_supervisor
place, ports = pathlib.Path(sys.argv[1]), [int(p) for p in sys.argv[2].split(",")]
from tests.launcher.servers import server_argv
supervisor = make_supervisor(place)
supervisor.adopt_all()
supervisor.start()
print("up", flush=True)
requests = [
    LaunchRequest(Config(argv=server_argv(port), host="127.0.0.1", port=port), name="r",
                  ready_path="/h", workload=WorkloadSpec(name="load"),
                  later_workloads=tuple(WorkloadSpec(name=name) for name in sys.argv[4:]))
    for port in ports
]
supervisor.launch_batch(requests, one_after_the_other=len(sys.argv) > 3 and sys.argv[3] == "queued")
print("launched", flush=True)
time.sleep(600)
"""


class FileStore:
    """A RunStore whose saved runs are files, so that they outlive the process that saved them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def save_run(self, run: Run) -> None:
        path = self._directory / f"{run.id}.json"
        temporary = path.with_suffix(".tmp")
        temporary.write_text(run.model_dump_json())
        temporary.replace(path)

    def queue_runs(self, runs: Sequence[Run]) -> Future[None]:
        return stored_at_once(self, runs)

    def run(self, run_id: str) -> Run | None:
        return next((run for run in self.runs() if run.id == run_id), None)

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> list[Run]:
        stored = [Run.model_validate(json.loads(p.read_text())) for p in sorted(self._directory.glob("*.json"))]
        return [run for run in stored if states is None or run.state in states][-(limit or 0) :]

    def names_like(self, names: Collection[str]) -> list[str]:
        return [run.name for run in self.runs()]

    def runs_of_batch(self, batch_id: str) -> list[Run]:
        return [run for run in self.runs() if run.batch_id == batch_id]


def load_argv(run: Run, directory: Path) -> list[str]:
    assert run.workload
    text = f"open({str(directory / 'done')!r}, 'a').write('{run.workload.name}\\n')"
    script = f"import time; time.sleep(0.8); {text}"
    return [sys.executable, "-c", script]


def take(batch: Batch) -> None:
    """Events are not looked at here."""


def make_supervisor(place: Path, **given: Any) -> Supervisor:
    settings = {"events": take, "prepare_workload": load_argv, "stop_grace_s": 5.0, **given}
    return Supervisor(FileStore(place / "store"), place / "runs", **settings)


@pytest.fixture
def holders(tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    holders: list[subprocess.Popen[bytes]] = []
    yield holders
    for holder in holders:
        holder.kill()
        holder.wait()
    for run in FileStore(tmp_path / "store").runs():
        for process in marked(run.id):
            process.kill()


def hold(place: Path, ports: list[int], *more: str) -> subprocess.Popen[bytes]:
    """A process of its own that holds a Supervisor and launches runs with a workload."""
    argv = [sys.executable, "-c", HOLDER, str(place), ",".join(map(str, ports)), *more]
    holder = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert holder.stdout and holder.stdout.readline() == b"up\n"
    return holder


@pytest.mark.parametrize(
    ("order", "later"),
    [
        ("at-once", ()),
        pytest.param("queued", (), marks=pytest.mark.wide),
        pytest.param("queued", ("second", "third"), marks=pytest.mark.wide),
    ],
    ids=["once", "queued", "later"],
)
def test_kill_9_at_random_moments_loses_nothing(
    tmp_path: Path, holders: list[subprocess.Popen[bytes]], order: str, later: tuple[str, ...]
) -> None:
    chance = random.Random(f"pitwall {order}")
    holder = hold(tmp_path, free_ports(2), order, *later)
    holders.append(holder)
    assert holder.stdout and holder.stdout.readline() == b"launched\n"
    ids = [run.id for run in FileStore(tmp_path / "store").runs()]
    assert len(ids) == 2
    for _ in range(4):
        time.sleep(chance.uniform(0.0, 0.9))
        holder.kill()
        holder.wait()
        store = FileStore(tmp_path / "store")
        living = {run.id: {p.pid for p in marked(run.id)} for run in store.runs()}
        started = [run.id for run in store.runs() if run.state in (RunState.READY, RunState.RUNNING)]
        assert all(living[run_id] for run_id in started), "a server died with Pitwall"
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER.split("requests =")[0] + "time.sleep(600)", str(tmp_path), "1"],
            stdout=subprocess.PIPE,
        )
        holders.append(holder)
        assert holder.stdout and holder.stdout.readline() == b"up\n"
    store = FileStore(tmp_path / "store")
    ended = [wait_for_state(store, run_id, *FINAL) for run_id in ids]
    for run in ended:
        assert run.state is RunState.FINISHED, run.cause
        assert run.exit_signal == signal.SIGTERM or run.exit_code is not None
        rows = [(path.name, (path / "done").read_text()) for path in load_directories(Path(run.run_dir or ""))]
        names = [f"workload-{place + 1}" if place else "workload" for place in range(1 + len(later))]
        assert rows == [(name, f"{spec}\n") for name, spec in zip(names, ("load", *later), strict=True)], "once, wholly"
        assert marked(run.id) == []


def test_sigterm_to_pitwall_leaves_its_servers(tmp_path: Path, holders: list[subprocess.Popen[bytes]]) -> None:
    holder = hold(tmp_path, free_ports(1))
    holders.append(holder)
    store = FileStore(tmp_path / "store")
    run = wait_for(lambda: next((run for run in store.runs() if run.state is RunState.RUNNING), None))
    holder.terminate()
    holder.wait()
    assert run.pid in [p.pid for p in marked(run.id)]
    supervisor = make_supervisor(tmp_path)
    assert [adopted.id for adopted in supervisor.adopt_all()] == [run.id]
    supervisor.start()
    ended = wait_for_state(store, run.id, *FINAL)
    supervisor.close()
    assert ended.state is RunState.FINISHED and ended.pid == run.pid


def test_load_cut_before_its_start_is_still_first(tmp_path: Path) -> None:
    """Killed between the making of its folder and its start: begun as a further load, its end would end no run."""
    supervisor = make_supervisor(tmp_path)
    supervisor.start()
    run = supervisor.launch(request_for(workload=WorkloadSpec(name="load")))
    folder = tmp_path / "runs" / run.id / "workload"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.json.tmp").touch()
    ended = wait_for_state(FileStore(tmp_path / "store"), run.id, *FINAL)
    supervisor.close()
    assert ended.state is RunState.FINISHED
    assert (folder / "done").read_text() == "load\n" and not folder.with_name("workload-2").exists()
