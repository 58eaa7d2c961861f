"""Answers of a container runtime beyond a limit are reported with the limit's name. Real executables."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from collectors.machine.gpu_status import GpuStatus
from commands.presets import Needs
from domain import Config, RunState
from launcher.checks import machine_check, requirements
from launcher.checks.check_result import MachineCheckResult
from launcher.checks.discover import find_server_at, find_servers
from launcher.checks.launch_request import LaunchRequest
from launcher.checks.machine_check import check_here
from launcher.checks.preflight import check_containers
from launcher.checks.prepared_launch import prepare_launch
from launcher.checks.requirements import GpuFacts, find_doubts, find_lacks
from launcher.processes import containers
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, server_argv, wait_for_state
from tests.ports import free_ports

pytestmark = pytest.mark.wide
TOO_LONG = "it took longer than "
TOO_MUCH = "it printed more than the limit of 1 MiB"
STAND_IN = """#!/bin/sh
# FAKE: {asked} does {does}; 'run' becomes the server itself; all else is refused.
case "$*" in
"{asked}"*) exec {does} ;;
run*) while [ "$1" != image:1 ]; do shift; done; shift; exec "$@" ;;
version* | ps*) exit 0 ;;
esac
exit 1
"""


class Runtime:
    """Puts a podman on the PATH that passes a limit when it is asked one thing."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "podman"

    def passes(self, asked: str, does: str) -> None:
        self.path.write_text(STAND_IN.format(asked=asked, does=does))
        self.path.chmod(0o755)


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(containers, "MOST_BYTES", 1 << 20)
    return Runtime(tmp_path)


def warnings_of(store: DictStore, run_id: str) -> list[str]:
    return [event.text for event in store.events if event.run_id == run_id and event.kind == "warning"]


def request(name: str = "mine") -> LaunchRequest:
    port = free_ports(1)[0]
    argv = ("podman", "run", "--name", name, "image:1", *server_argv(port))
    config = Config(argv=argv, launcher="podman", image="image:1", host="127.0.0.1", port=port)
    return LaunchRequest(config=config, name="p", ready_path="/health")


def test_hanging_runtime_launches_within_5_s(supervisor: Supervisor, store: DictStore, runtime: Runtime) -> None:
    runtime.passes("container inspect", "sleep 600")
    begun_s = time.monotonic()
    run = supervisor.launch(request())
    assert time.monotonic() - begun_s < 5.0
    wait_for_state(store, run.id, RunState.READY)
    words = f"The output of `podman container inspect mine` is unknown: {TOO_LONG}"
    assert warnings_of(store, run.id)[0].startswith(words)


def test_batch_waits_for_hanging_runtime_once(supervisor: Supervisor, store: DictStore, runtime: Runtime) -> None:
    runtime.passes("container inspect", "sleep 600")
    begun_s = time.monotonic()
    runs = supervisor.launch_batch([request("one"), request("other")], one_after_the_other=False)
    assert time.monotonic() - begun_s < 6.0, "4 s for the runtime, and what the rest of a launch takes"
    first, second = (warnings_of(store, run.id)[0] for run in runs)
    assert first == second and first.startswith(f"The output of `podman container inspect one` is unknown: {TOO_LONG}")


def test_unqueried_runtime_leaves_nothing_unknown(runtime: Runtime) -> None:
    runtime.passes("container inspect", "yes")
    launch_request = LaunchRequest(request().config, on_host="there")
    bare = LaunchRequest(Config(argv=tuple(server_argv(1)), port=1))
    (said, *others) = check_containers([prepare_launch(launch) for launch in (request(), bare, launch_request)])
    assert said == f"The output of `podman container inspect mine` is unknown: {TOO_MUCH}."
    assert others == [None, None]


@pytest.mark.parametrize("asked", ["version", "image inspect image:1"])
def test_preflight_names_the_limit_without_claims(runtime: Runtime, asked: str) -> None:
    runtime.passes(asked, "yes")
    config = request().config.model_copy(update={"port": None})
    words = f"The output of `podman {asked}` is unknown: {TOO_MUCH}."
    assert find_doubts(config, Needs(), GpuFacts(), Path.cwd()) == [words]
    assert find_lacks(config, Needs(), GpuFacts(), Path.cwd()) == []


def test_whole_check_shares_one_deadline(runtime: Runtime) -> None:
    runtime.passes("version", "sleep 600")
    config, begun_s = request().config, time.monotonic()
    found = check_here(config, Needs(), GpuStatus, Path.cwd())
    assert time.monotonic() - begun_s < 10.0, "asked twice with 10 s each, it is 20 s"
    (words,) = found.doubts
    assert words.startswith(f"The output of `podman version` is unknown: {TOO_LONG}") and found.lacks == ()


def test_check_reports_a_hanging_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(requirements, "path_exists", lambda _: is_over.wait())
    monkeypatch.setattr(machine_check, "CHECK_S", 0.5)
    config = Config(argv=("python3", "serve.py"), model="m", volumes=("/mnt/away:/m",), launcher="podman", port=1)
    try:
        found = check_here(config, Needs(), GpuStatus, Path.cwd())
    finally:
        is_over.set()
    words = "an answer within 0.5 s: a disk or mount that the command names does not respond"
    assert found == MachineCheckResult(lacks=(words,), doubts=(), unknown=())


def test_container_search_reports_exceeded_limit(runtime: Runtime) -> None:
    runtime.passes("ps", "yes")
    passed = list[str]()
    find_servers(passed.append)
    assert find_server_at("http://127.0.0.1:1", passed.append) is None
    assert passed == 2 * [f"The output of `podman ps --quiet --no-trunc` is unknown: {TOO_MUCH}."]
