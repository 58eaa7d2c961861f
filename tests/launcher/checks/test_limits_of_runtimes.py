"""What passes a limit when a container runtime is asked before a run: said with the limit's name. Real executables."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from collectors.machine.gpu_now import GpusNow
from commands.presets import Needs
from domain import Config, RunState
from launcher.checks import machine_check, requirements
from launcher.checks.discover import find_server_at, find_servers
from launcher.checks.machine_check import check_here
from launcher.checks.preflight import LaunchRequest, check_containers
from launcher.checks.requirements import GpuFacts, find_doubts, find_lacks
from launcher.processes import containers
from launcher.remote.orders import Lacks
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, server_argv, wait_for_state
from tests.ports import free_ports

TOO_LONG = "it took longer than "
TOO_MUCH = "it printed more than 1 MiB, the most that is read of it"
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


def test_a_runtime_that_hangs_is_launched_within_5_s_and_the_run_says_what_is_not_known(
    supervisor: Supervisor, store: DictStore, runtime: Runtime
) -> None:
    runtime.passes("container inspect", "sleep 600")
    begun_s = time.monotonic()
    run = supervisor.launch(request())
    assert time.monotonic() - begun_s < 5.0
    wait_for_state(store, run.id, RunState.READY)
    words = f"What `podman container inspect mine` says is not known: {TOO_LONG}"
    assert warnings_of(store, run.id)[0].startswith(words)


def test_a_batch_waits_for_a_runtime_that_hangs_as_long_as_one_run(
    supervisor: Supervisor, store: DictStore, runtime: Runtime
) -> None:
    runtime.passes("container inspect", "sleep 600")
    begun_s = time.monotonic()
    runs = supervisor.launch_batch([request("one"), request("other")], one_after_the_other=False)
    assert time.monotonic() - begun_s < 6.0, "4 s for the runtime, and what the rest of a launch takes"
    first, second = (warnings_of(store, run.id)[0] for run in runs)
    assert first == second and first.startswith(f"What `podman container inspect one` says is not known: {TOO_LONG}")


def test_what_no_runtime_of_this_machine_is_asked_has_nothing_unknown(runtime: Runtime) -> None:
    runtime.passes("container inspect", "yes")
    there = LaunchRequest(request().config, on_host="there")
    bare = LaunchRequest(Config(argv=tuple(server_argv(1))))
    (said, *others) = check_containers([request(), bare, there])
    assert said == f"What `podman container inspect mine` says is not known: {TOO_MUCH}."
    assert others == [None, None]


@pytest.mark.parametrize("asked", ["version", "image inspect image:1"])
def test_the_check_before_a_launch_names_the_limit_and_claims_nothing(runtime: Runtime, asked: str) -> None:
    runtime.passes(asked, "yes")
    config = request().config.model_copy(update={"port": None})
    words = f"What `podman {asked}` says is not known: {TOO_MUCH}."
    assert find_doubts(config, Needs(), GpuFacts(), Path.cwd()) == [words]
    assert find_lacks(config, Needs(), GpuFacts(), Path.cwd()) == []


def test_the_whole_check_of_a_runtime_that_hangs_has_one_deadline(runtime: Runtime) -> None:
    runtime.passes("version", "sleep 600")
    config, begun_s = request().config, time.monotonic()
    found = check_here(config, Needs(), GpusNow, Path.cwd())
    assert time.monotonic() - begun_s < 10.0, "asked twice with 10 s each, it is 20 s"
    (words,) = found.doubts
    assert words.startswith(f"What `podman version` says is not known: {TOO_LONG}") and found.lacks == ()


def test_a_check_that_meets_a_disk_that_hangs_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(requirements, "is_there", lambda _: is_over.wait())
    monkeypatch.setattr(machine_check, "CHECK_S", 0.5)
    config = Config(argv=("python3", "serve.py"), model="m", volumes=("/mnt/away:/m",), launcher="podman", port=1)
    try:
        found = check_here(config, Needs(), GpusNow, Path.cwd())
    finally:
        is_over.set()
    words = "an answer within 0.5 s: a disk or mount that the command names does not come back"
    assert found == Lacks(lacks=(words,), doubts=(), unknown=())


def test_who_looks_for_containers_is_given_the_limit_that_was_passed(runtime: Runtime) -> None:
    runtime.passes("ps", "yes")
    passed = list[str]()
    find_servers(passed.append)
    assert find_server_at("http://127.0.0.1:1", passed.append) is None
    assert passed == 2 * [f"What `podman ps --quiet --no-trunc` says is not known: {TOO_MUCH}."]
