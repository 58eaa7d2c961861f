"""Processes of a run are gone when it ends, whatever dies first; the engine is a stand-in, its processes are real."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from domain import Config, Run, RunState
from launcher.checks.launch_request import LaunchRequest
from launcher.processes.descendants import DescendantRecord, is_living, recorded_processes
from launcher.processes.process import processes_of, server_process, shim_process
from launcher.processes.stopping import stop_process
from launcher.runs.supervisor import Supervisor
from machine.ports import is_port_free
from tests.launcher.runs.test_adoption import FileStore
from tests.launcher.runs.test_adoption import make_supervisor as supervisor_on_files
from tests.launcher.servers import DictStore, wait_for, wait_for_state
from tests.ports import free_ports
from tests.wide import wide_params

FINAL = (RunState.FINISHED, RunState.FAILED)
TREE = Path(__file__).with_name("engine_tree.py")
ROLES = ("api", "core", "worker", "stray")
Family = dict[str, psutil.Process]


def tree_request(folder: Path, port: int | None = None) -> LaunchRequest:
    port = port or free_ports(1)[0]
    argv = (sys.executable, str(TREE), str(port), str(folder))
    return LaunchRequest(Config(argv=argv, host="127.0.0.1", port=port), name="tree", ready_path="/health")


def family_in(folder: Path) -> Family:
    """The four processes, once each has said its pid."""
    wait_for(lambda: all((folder / role).exists() for role in ROLES))
    return {role: psutil.Process(int((folder / role).read_text())) for role in ROLES}


def wait_for_record(run: Run, family: Family) -> None:
    directory = Path(run.run_dir or "")
    wait_for(lambda: set(family.values()) <= set(recorded_processes(directory)))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where the stand-in's processes write their pids; what is left of them is ended."""
    (place := tmp_path / "pids").mkdir()
    yield place
    for role in ROLES:
        if (place / role).exists() and psutil.pid_exists(pid := int((place / role).read_text())):
            psutil.Process(pid).kill()


def assert_nothing_is_left(run: Run, family: Family) -> None:
    assert [role for role, process in family.items() if is_living(process)] == []
    wait_for(lambda: shim_process(Path(run.run_dir or "")) is None)
    assert run.config.port and is_port_free(run.config.port)


@pytest.mark.parametrize("victim", ["core", "worker", *wide_params("api", "stray", "shim")])
def test_any_kill_leaves_nothing_after_the_end(
    supervisor: Supervisor, store: DictStore, folder: Path, victim: str
) -> None:
    run = supervisor.launch(tree_request(folder))
    wait_for_state(store, run.id, RunState.READY)
    family = family_in(folder)
    wait_for_record(run, family)
    process = shim_process(Path(run.run_dir or "")) if victim == "shim" else family[victim]
    assert process
    process.kill()
    if victim != "api":
        wait_for(lambda: not is_living(process))
        supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert_nothing_is_left(ended, family)


def test_server_leftovers_are_named_in_evidence(supervisor: Supervisor, store: DictStore, folder: Path) -> None:
    run = supervisor.launch(tree_request(folder))
    wait_for_state(store, run.id, RunState.READY)
    family = family_in(folder)
    wait_for_record(run, family)
    family["api"].kill()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.cause and "SIGKILL" in ended.cause
    (actual_action,) = [action for action in store.events[-1].data["actions"] if "left behind" in action]
    for role, signal_name in (("core", "SIGTERM"), ("worker", "SIGKILL"), ("stray", "SIGTERM")):
        assert f"(pid {family[role].pid}, {signal_name})" in actual_action
    document = json.loads((Path(run.run_dir or "") / "exit.json").read_text())
    assert {one["pid"] for one in document["left"]} == {family[role].pid for role in ("core", "worker", "stray")}


def test_server_survives_its_shim_and_is_watched(supervisor: Supervisor, store: DictStore, folder: Path) -> None:
    run = supervisor.launch(tree_request(folder))
    wait_for_state(store, run.id, RunState.READY)
    family = family_in(folder)
    wait_for_record(run, family)
    shim = shim_process(Path(run.run_dir or ""))
    assert shim
    shim.kill()
    wait_for(lambda: any(event.kind == "warning" for event in store.events))
    assert store.run(run.id).state is RunState.READY and is_living(family["api"])
    family["core"].kill()  # its worker loses its last parent that we knew
    wait_for(lambda: family["worker"].ppid() != family["core"].pid)
    family["api"].kill()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FAILED
    assert_nothing_is_left(ended, family)


def test_later_descendants_recorded_without_shim(supervisor: Supervisor, store: DictStore, folder: Path) -> None:
    run = supervisor.launch(tree_request(folder))
    wait_for_state(store, run.id, RunState.READY)
    family = family_in(folder)
    directory = Path(run.run_dir or "")
    shim = shim_process(directory)
    assert shim
    shim.kill()
    wait_for(lambda: not is_living(shim))
    (directory / "descendants.json").unlink(missing_ok=True)
    wait_for(lambda: {family["core"], family["worker"]} <= set(recorded_processes(directory)))


# --- Pitwall itself is killed ----------------------------------------------------------------------------------------
PITWALL = """
import pathlib, sys, time
from tests.launcher.runs.test_adoption import make_supervisor
from tests.launcher.processes.test_descendants import tree_request
supervisor = make_supervisor(pathlib.Path(sys.argv[1]))
supervisor.start()
supervisor.launch(tree_request(pathlib.Path(sys.argv[2])))
time.sleep(600)
"""


@pytest.mark.parametrize("text", ["api", *wide_params("shim", "stop")])
def test_pitwall_is_killed_and_then_another(tmp_path: Path, folder: Path, text: str) -> None:
    pitwall = subprocess.Popen([sys.executable, "-c", PITWALL, str(tmp_path), str(folder)])
    store = FileStore(tmp_path / "store")
    try:
        run = wait_for(lambda: next((run for run in store.runs() if run.state is RunState.READY), None))
    finally:
        pitwall.kill()
        pitwall.wait()
    family = family_in(folder)
    wait_for_record(run, family)
    directory = Path(run.run_dir or "")
    if text == "api":
        family["api"].kill()
        wait_for(lambda: shim_process(directory) is None, 30.0)
        assert [role for role, process in family.items() if is_living(process)] == [], "the shim ends what is left"
    elif text == "shim":
        shim = shim_process(directory)
        assert shim
        shim.kill()
        wait_for(lambda: not is_living(shim))
    supervisor = supervisor_on_files(tmp_path)
    supervisor.adopt_all()
    supervisor.start()
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    supervisor.close()
    assert_nothing_is_left(ended, family)


# --- what is not ours is not ended -----------------------------------------------------------------------------------
def test_reused_recorded_pid_is_spared(tmp_path: Path) -> None:
    """A pid cannot be made to come round again: the record is given a start time that never was."""
    directory = tmp_path / "run"
    directory.mkdir()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        DescendantRecord(directory).keep([psutil.Process(stranger.pid)])
        assert [process.pid for process in recorded_processes(directory)] == [stranger.pid]
        path = directory / "descendants.json"
        document = json.loads(path.read_text())
        for one in document["processes"]:
            one["start_s"] -= 100
        path.write_text(json.dumps(document))
        assert recorded_processes(directory) == [] and processes_of(directory) == []
        assert stop_process(directory, 0.1).is_clean
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_record_of_another_boot_names_nobody(tmp_path: Path) -> None:
    DescendantRecord(tmp_path).keep([psutil.Process()])
    path = tmp_path / "descendants.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot_id": "another boot"}))
    assert recorded_processes(tmp_path) == []


def test_record_outlives_the_shim_with_identities(supervisor: Supervisor, store: DictStore, folder: Path) -> None:
    run = supervisor.launch(tree_request(folder))
    wait_for_state(store, run.id, RunState.READY)
    family = family_in(folder)
    wait_for_record(run, family)
    processes = json.loads((Path(run.run_dir or "") / "descendants.json").read_text())["processes"]
    by_pid = {process["pid"]: process for process in processes}
    core, stray = by_pid[family["core"].pid], by_pid[family["stray"].pid]
    assert core["session"] == core["group"] == core["pid"] and stray["session"] != stray["pid"]
    server = server_process(Path(run.run_dir or ""))
    assert server == family["api"]
