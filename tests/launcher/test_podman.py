"""Servers in real podman containers: an image imported from a bare root file system, the machine's own Python in it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from demo.presets import demo_configs, free_ports
from domain import Config, Run, RunState
from launcher.backends import LABEL
from launcher.ports import is_port_free
from launcher.preflight import LaunchRefused, LaunchRequest
from launcher.process import ROOT, server_process, shim_process
from launcher.supervisor import Supervisor
from tests.launcher.servers import DictStore, marked, server_argv, wait_for, wait_for_state

pytestmark = [
    pytest.mark.podman,
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
]
FINAL = (RunState.FINISHED, RunState.FAILED)
IMAGE = "localhost/pitwall-bare"
MOUNTED = ("/usr", "/lib", "/lib64", "/bin", sys.base_prefix, sys.prefix, str(ROOT))
# For machines that let no limit be raised.
LIMITS = '[containers]\ndefault_ulimits=["nofile=1024:1024","nproc=1024:1024"]\n'


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image of a few empty directories; no registry is asked."""
    folder = tmp_path_factory.mktemp("image")
    runtime = "" if shutil.which("crun") else '[engine]\nruntime="runc"\n'
    (folder / "containers.conf").write_text(LIMITS + runtime)
    before = os.environ.get("CONTAINERS_CONF")
    os.environ["CONTAINERS_CONF"] = before or str(folder / "containers.conf")
    with tarfile.open(folder / "root.tar", "w") as archive:
        for name in ("tmp", "etc", "proc", "dev", "sys"):
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(directory)
        archive.addfile(tarfile.TarInfo("etc/hosts"), io.BytesIO())
    podman("import", str(folder / "root.tar"), IMAGE)
    yield IMAGE
    podman("rmi", "-f", IMAGE)
    if before is None:
        del os.environ["CONTAINERS_CONF"]


def podman(*words: str) -> str:
    return subprocess.run(["podman", *words], capture_output=True, text=True, check=True).stdout


def containers(run_id: str) -> list[str]:
    return podman("ps", "-aq", "--filter", f"label={LABEL}={run_id}").split()


def command(image: str, *inside: str, flags: tuple[str, ...] = ("--rm", "-d")) -> tuple[str, ...]:
    mounts = [word for path in dict.fromkeys(MOUNTED) if Path(path).is_dir() for word in ("-v", f"{path}:{path}:ro")]
    return ("podman", "run", *flags, "--network=host", *mounts, image, *inside)


def request(image: str, kind: str = "plain", **given: Any) -> LaunchRequest:
    port = free_ports(1)[0]
    argv = command(image, *server_argv(port, kind), **given)
    config = Config(argv=argv, launcher="podman", image=image, host="127.0.0.1", port=port)
    return LaunchRequest(config=config, name=kind, ready_path="/health")


def check_nothing_is_left(run: Run) -> None:
    assert containers(run.id) == [] and marked(run.id) == []
    assert run.config.port and is_port_free(run.config.port)


def test_a_container_is_named_followed_looked_into_and_removed(
    image: str, supervisor: Supervisor, store: DictStore
) -> None:
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


def test_the_exit_code_and_the_log_of_a_container_that_would_have_removed_itself_are_kept(
    image: str, supervisor: Supervisor, store: DictStore
) -> None:
    ended = wait_for_state(store, supervisor.launch(request(image, "exits")).id, *FINAL)
    assert ended.state is RunState.FAILED and ended.exit_code == 3
    assert ended.cause == "The server exited with code 3 before it was ready."
    assert "it all went wrong" in store.events[-1].data["log_tail"]
    assert ended.provenance and ended.provenance["container"]["is_oom_killed"] is False
    check_nothing_is_left(ended)


VICTIMS: dict[str, Callable[[Run], psutil.Process | None]] = {
    "client": lambda run: server_process(Path(run.run_dir or "")),
    "shim": lambda run: shim_process(Path(run.run_dir or "")),
    "container": lambda run: psutil.Process(json.loads(podman("inspect", f"pitwall-{run.id}"))[0]["State"]["Pid"]),
    "monitor": lambda run: psutil.Process(psutil.Process(VICTIMS["container"](run).pid).ppid()),  # type: ignore[union-attr]
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_kill_9_leaves_no_container_and_strangers_are_spared(
    image: str, supervisor: Supervisor, store: DictStore, victim: str
) -> None:
    (stranger,) = podman(*command(image, sys.executable, "-c", "import time; time.sleep(600)")[1:]).split()
    run = supervisor.launch(request(image))
    wait_for_state(store, run.id, RunState.READY)
    process = VICTIMS[victim](run)
    assert process
    process.kill()
    if victim in ("shim", "monitor"):  # the server lives on
        supervisor.turn()
        supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    check_nothing_is_left(ended)
    if victim == "client":
        assert ended.cause and ended.cause.startswith("The container's client was killed"), ended.cause
    if victim == "container":
        assert ended.exit_code == 137 and ended.cause == "The server exited with code 137 (128 + SIGKILL)."
    assert podman("ps", "-q", "--no-trunc").split() == [stranger]
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
    check_nothing_is_left(ended)


def test_a_name_in_use_is_refused(image: str, supervisor: Supervisor) -> None:
    podman(*command(image, sys.executable, "-c", "0", flags=("--name", "pitwall-test-taken"))[1:])
    with pytest.raises(LaunchRefused, match="There is a podman container named pitwall-test-taken already"):
        supervisor.launch(request(image, flags=("--name", "pitwall-test-taken")))
    podman("rm", "pitwall-test-taken")


@pytest.mark.engine
def test_a_real_llama_server_runs_in_a_container(
    image: str, supervisor: Supervisor, store: DictStore, tmp_path: Path
) -> None:
    one = demo_configs(tmp_path)[0]
    folder = str(tmp_path)
    argv = command(image, *one.argv, flags=("--rm", "-v", f"{folder}:{folder}", "-w", str(ROOT)))
    config = one.config.model_copy(update={"argv": argv, "launcher": "podman", "image": image})
    run = supervisor.launch(LaunchRequest(config=config, name="llama", makes_model=True))
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY, (ready.cause, store.events[-1])
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and ended.exit_code == 0
    check_nothing_is_left(ended)
