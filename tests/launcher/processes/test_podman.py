"""Servers in real podman containers: an image imported from a bare root file system, the machine's own Python in it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from demo.presets import demo_configs
from domain import Config, Run, RunState
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.processes.process import ROOT, server_process, shim_process
from launcher.runs.supervisor import Supervisor
from tests.launcher.processes.podman import (
    check_nothing_is_left,
    command,
    container_process,
    containers,
    monitor_process,
    podman,
    request,
    running,
)
from tests.launcher.servers import DictStore, wait_for, wait_for_state
from tests.ports import free_ports

pytestmark = [
    pytest.mark.podman,
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
]
FINAL = (RunState.FINISHED, RunState.FAILED)


def test_container_is_named_followed_and_removed(image: str, supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request(image))
    wait_for_state(store, run.id, RunState.READY)
    ready = wait_for(lambda: "container" in ((known := store.run(run.id)).provenance or {}) and known)
    (shown,) = json.loads(podman("inspect", f"pitwall-{run.id}"))
    frozen = ready.provenance["container"]
    assert frozen["id"] == shown["Id"] and frozen["image_id"] == shown["Image"]
    assert frozen["image_digest"] == shown["ImageDigest"] and frozen["image_digest"].startswith("sha256:")
    assert ready.pid == shown["State"]["Pid"], "the server's own process, not the client's"
    assert ready.log_path and "hello from the server" in Path(ready.log_path).read_text()
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and ended.exit_code in (137, 143), ended.cause
    check_nothing_is_left(ended)


def test_self_removing_container_keeps_log_code(image: str, supervisor: Supervisor, store: DictStore) -> None:
    ended = wait_for_state(store, supervisor.launch(request(image, "exits")).id, *FINAL)
    assert ended.state is RunState.FAILED and ended.exit_code == 3
    assert ended.cause == "The server exited with code 3 before it was ready."
    assert "it all went wrong" in store.events[-1].data["log_tail"]
    assert ended.provenance and ended.provenance["container"]["is_oom_killed"] is False
    check_nothing_is_left(ended)


VICTIMS: dict[str, Callable[[Run], psutil.Process | None]] = {
    "client": lambda run: server_process(Path(run.run_dir or "")),
    "shim": lambda run: shim_process(Path(run.run_dir or "")),
    "container": lambda run: container_process(run.id),
    "monitor": lambda run: monitor_process(run.id),
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_kill_9_leaves_no_container_behind(image: str, supervisor: Supervisor, store: DictStore, victim: str) -> None:
    (stranger,) = podman(*command(image, sys.executable, "-c", "import time; time.sleep(600)")[1:]).split()
    run = supervisor.launch(request(image))
    wait_for_state(store, run.id, RunState.READY)
    process = VICTIMS[victim](run)
    assert process
    process.kill()
    if victim in ("shim", "monitor"):  # the server lives on
        supervisor.tick()
        supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    check_nothing_is_left(ended)
    if victim == "client":
        assert ended.cause and ended.cause.startswith("The container's client was killed"), ended.cause
    if victim == "container":
        assert ended.exit_code == 137 and ended.cause == "The server exited with code 137 (128 + SIGKILL)."
    assert running(image) == [stranger]
    podman("rm", "-f", "-t", "0", stranger)


def test_the_next_pitwall_takes_a_container_back(
    image: str, make_supervisor: Callable[..., Supervisor], store: DictStore
) -> None:
    first = make_supervisor()
    run = first.launch(request(image))
    wait_for_state(store, run.id, RunState.READY)
    first.close()
    assert len(containers(run.id)) == 1
    second = make_supervisor()
    second.stop(run.id)
    check_nothing_is_left(wait_for_state(store, run.id, *FINAL))


def test_what_podman_refuses_is_the_cause(image: str, supervisor: Supervisor, store: DictStore) -> None:
    wrong = request("localhost/no-such-image", flags=("--pull=never",))
    ended = wait_for_state(store, supervisor.launch(wrong).id, *FINAL)
    assert ended.cause and ended.cause.startswith("podman could not start the container: Error: "), ended.cause
    assert ended.exit_code == 125
    check_nothing_is_left(ended)
    config = Config(argv=command(image, "/no/such"), launcher="podman", image=image, port=free_ports(1)[0])
    ended = wait_for_state(store, supervisor.launch(LaunchRequest(config)).id, *FINAL)
    assert ended.exit_code in (126, 127), "what is made and never starts has not ended well"
    check_nothing_is_left(ended)


def test_a_name_in_use_is_refused(image: str, supervisor: Supervisor) -> None:
    name = f"pitwall-test-taken-{os.getpid()}"  # several suites may run on one machine
    podman(*command(image, sys.executable, "-c", "0", flags=("--name", name))[1:])
    with pytest.raises(LaunchRefusedError, match=f"A podman container named {name} already exists"):
        supervisor.launch(request(image, flags=("--name", name)))
    podman("rm", name)


@pytest.mark.engine
def test_a_real_llama_server_runs_in_a_container(
    image: str, supervisor: Supervisor, store: DictStore, tmp_path: Path
) -> None:
    demo_config = demo_configs(tmp_path)[0]
    folder = str(tmp_path)
    argv = command(image, *demo_config.argv, flags=("--rm", "-v", f"{folder}:{folder}", "-w", str(ROOT)))
    config = demo_config.config.model_copy(update={"argv": argv, "launcher": "podman", "image": image})
    run = supervisor.launch(LaunchRequest(config=config, name="llama", makes_model=True))
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY, (ready.cause, store.events[-1])
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and ended.exit_code == 0
    check_nothing_is_left(ended)
