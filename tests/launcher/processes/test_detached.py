"""Scripts that leave their server running and end: followed, not told as failed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from domain import Config, Run, RunState
from launcher.checks.launch_request import LaunchRequest
from launcher.processes.descendants import is_living
from launcher.processes.process import processes_of, server_process, shim_process
from launcher.runs.supervisor import Supervisor
from machine.ports import is_port_free
from tests.launcher.servers import DictStore, server_argv, wait_for, wait_for_state
from tests.ports import free_ports

FINAL = (RunState.FINISHED, RunState.FAILED)


def script_request(folder: Path, text: str, port: int) -> LaunchRequest:
    script = folder / "serve.sh"
    script.write_text(f"#!/bin/bash\n{text}\n")
    script.chmod(0o755)
    config = Config(launcher="script", argv=("bash", str(script)), host="127.0.0.1", port=port)
    return LaunchRequest(config, name="script", ready_path="/health")


def in_background(port: int, folder: Path, kind: str = "plain") -> str:
    return f"nohup {shlex.join(server_argv(port, kind))} > {folder}/server-own.log 2>&1 &"


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


def test_script_ending_in_ampersand_is_followed(
    supervisor: Supervisor, store: DictStore, tmp_path: Path, port: int
) -> None:
    run = supervisor.launch(script_request(tmp_path, in_background(port, tmp_path), port))
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY, ready.cause
    server = server_process(Path(run.run_dir or ""))
    assert server and server.cmdline()[0] == sys.executable
    wait_for(lambda: store.run(run.id).pid == server.pid)
    assert ready.run_dir and wait_for(lambda: store.run(run.id).log_path == str(tmp_path / "server-own.log"))
    family = processes_of(Path(run.run_dir or ""))
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED, ended.cause
    assert not any(map(is_living, family)) and is_port_free(port)


@pytest.mark.wide
def test_late_log_of_a_followed_server_is_read(
    supervisor: Supervisor, store: DictStore, tmp_path: Path, port: int
) -> None:
    """The shell that a script leaves behind is noted before it has become the server and opened its log."""
    own = tmp_path / "server-own.log"
    text = f"(sleep 3; exec {shlex.join(server_argv(port))} > {own} 2>&1) &"
    run = supervisor.launch(script_request(tmp_path, text, port))
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY, ready.cause
    assert wait_for(lambda: store.run(run.id).log_path == str(own), 20)
    supervisor.stop(run.id)
    wait_for_state(store, run.id, *FINAL)


def test_followed_server_keeps_its_exit_code(
    supervisor: Supervisor, store: DictStore, tmp_path: Path, port: int
) -> None:
    text = f"(sleep 1; exec {shlex.join(server_argv(port, 'exits'))}) &"
    ended = wait_for_state(store, supervisor.launch(script_request(tmp_path, text, port)).id, *FINAL)
    assert ended.state is RunState.FAILED and ended.exit_code == 3
    assert ended.cause == "The server exited with code 3 before it was ready."


@pytest.fixture
def elsewhere(port: int) -> Callable[[], subprocess.Popen[bytes]]:
    """Starts a server that no process of the run is an ancestor of, as a container's daemon does."""
    return lambda: subprocess.Popen(server_argv(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_remote_server_of_script_only_watched(
    make_supervisor: Callable[..., Supervisor],
    store: DictStore,
    tmp_path: Path,
    port: int,
    elsewhere: Callable[[], subprocess.Popen[bytes]],
) -> None:
    first = make_supervisor()
    run = first.launch(script_request(tmp_path, "exit 0", port))
    awaited: Run = wait_for(lambda: (now := store.run(run.id)).note and now)
    assert awaited.state is RunState.STARTING and awaited.phase == "the script has ended, waiting for the server"
    wait_for(lambda: shim_process(Path(run.run_dir or "")) is None)
    server = elsewhere()
    try:
        wait_for_state(store, run.id, RunState.READY)
        first.close()
        second = make_supervisor()
        second.tick()
        second.stop(run.id)
        ended = wait_for_state(store, run.id, *FINAL)
        assert ended.state is RunState.FINISHED, ended.cause
        assert server.poll() is None, "we did not start it"
    finally:
        server.kill()
        server.wait()


DAEMON = """
import os, subprocess, sys, time
if sys.argv[1] == "start":  # as `ray start`: leaves a daemon in its own session's group and ends a while later
    with open(sys.argv[2], "w") as log:
        subprocess.Popen([sys.executable, "-c", sys.argv[3], "daemon"], stdout=log, stderr=log)
    time.sleep(2.5)
else:
    print("the daemon's own words", flush=True)
    time.sleep(600)
"""


def after_a_daemon(folder: Path, server: str) -> str:
    """A script that has a helper start a daemon, then leaves its server: a stand-in for a Ray cluster's."""
    started = shlex.join([sys.executable, "-c", DAEMON, "start", str(folder / "daemon.log"), DAEMON])
    return f"{started}\n{server}"


def test_server_is_followed_beside_a_cluster(
    supervisor: Supervisor, store: DictStore, tmp_path: Path, port: int
) -> None:
    """Its daemons are older; they are of the run all the same, and gone when the server is killed."""
    text = after_a_daemon(tmp_path, in_background(port, tmp_path))
    run = supervisor.launch(script_request(tmp_path, text, port))
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY, ready.cause
    directory = Path(run.run_dir or "")
    assert wait_for(lambda: store.run(run.id).log_path == str(tmp_path / "server-own.log"))
    server, family = server_process(directory), processes_of(directory)
    assert server and str(port) in server.cmdline() and any("daemon" in one.cmdline() for one in family)
    server.kill()
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FAILED and "SIGKILL" in (ended.cause or ""), ended
    assert not any(map(is_living, family)) and is_port_free(port)


@pytest.mark.wide
def test_early_server_failure_beside_a_cluster(
    supervisor: Supervisor, store: DictStore, tmp_path: Path, port: int
) -> None:
    text = after_a_daemon(tmp_path, f"(sleep 1; exec {shlex.join(server_argv(port, 'exits'))}) &")
    ended = wait_for_state(store, supervisor.launch(script_request(tmp_path, text, port)).id, *FINAL)
    assert ended.state is RunState.FAILED and ended.exit_code == 3, ended


def test_listening_process_of_two_is_followed(
    supervisor: Supervisor, store: DictStore, tmp_path: Path, port: int
) -> None:
    text = f"nohup sleep 600 > {tmp_path}/other.log 2>&1 &\n{in_background(port, tmp_path)}"
    run = supervisor.launch(script_request(tmp_path, text, port))
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY, ready.cause
    assert wait_for(lambda: store.run(run.id).log_path == str(tmp_path / "server-own.log"))
    server = server_process(Path(run.run_dir or ""))
    assert server and str(port) in server.cmdline()
    supervisor.stop(run.id)
    assert wait_for_state(store, run.id, *FINAL).state is RunState.FINISHED
