"""Servers in real podman containers on another machine, started by ssh through a real sshd."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from domain import Run, RunState
from launcher.processes.process import server_process, shim_process
from launcher.runs.supervisor import Supervisor
from tests.launcher.processes.podman import (
    check_nothing_is_left,
    command,
    container_process,
    containers,
    podman,
    request,
    running,
)
from tests.launcher.remote.sshd import Box, book_with, needs_sshd, running_box
from tests.launcher.servers import DictStore, marked, wait_for_state

pytestmark = [
    needs_sshd,
    pytest.mark.ssh,
    pytest.mark.podman,
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
]
FINAL = (RunState.FINISHED, RunState.FAILED)


@pytest.fixture
def box(image: str, tmp_path: Path) -> Iterator[Box]:
    """Its podman has the settings that the image was made with: ssh brings no variable there."""
    with running_box(tmp_path / "box") as box:
        script = box.checkout / "pitwall"
        settings = f"os.environ['CONTAINERS_CONF'] = {os.environ['CONTAINERS_CONF']!r}\nimport sys\n"
        script.write_text(script.read_text().replace("import sys\n", settings, 1))
        yield box


@pytest.fixture
def launched(
    make_supervisor: Callable[..., Supervisor], store: DictStore, box: Box, image: str, tmp_path: Path
) -> tuple[Supervisor, Run]:
    """A server that is ready in a container over there."""
    supervisor = make_supervisor(hosts=book_with(tmp_path / "hosts.json", box.host))
    run = supervisor.launch(replace(request(image), on_host="gpu-box"))
    ready = wait_for_state(store, run.id, RunState.READY, *FINAL)
    assert ready.state is RunState.READY, ready.cause
    assert len(containers(run.id)) == 1
    return supervisor, ready


def test_next_pitwall_ends_and_removes_container(
    launched: tuple[Supervisor, Run],
    make_supervisor: Callable[..., Supervisor],
    store: DictStore,
    box: Box,
    tmp_path: Path,
) -> None:
    first, run = launched
    assert run.log_path and "hello from the server" in Path(run.log_path).read_text()
    first.close()
    supervisor = make_supervisor(hosts=book_with(tmp_path / "hosts.json", box.host))
    assert [live_run.id for live_run in supervisor.live_runs()] == [run.id] and len(containers(run.id)) == 1
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert ended.state is RunState.FINISHED and ended.exit_code in (137, 143), ended.cause
    assert marked(f"ssh-{run.id}") == [] and not (box.shims / f"ssh-{run.id}" / "server.log").exists()
    check_nothing_is_left(ended)


VICTIMS: dict[str, Callable[[Path, Run], psutil.Process | None]] = {
    "client": lambda folder, run: server_process(folder),
    "shim": lambda folder, run: shim_process(folder),
    "container": lambda folder, run: container_process(run.id),
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_remote_kill_9_leaves_no_container(
    launched: tuple[Supervisor, Run], store: DictStore, box: Box, image: str, victim: str
) -> None:
    supervisor, run = launched
    (stranger,) = podman(*command(image, sys.executable, "-c", "import time; time.sleep(600)")[1:]).split()
    process = VICTIMS[victim](box.shims / f"ssh-{run.id}", run)
    assert process
    process.kill()
    if victim == "shim":  # the server lives on
        supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *FINAL)
    assert marked(f"ssh-{run.id}") == []
    check_nothing_is_left(ended)
    if victim == "container":
        assert ended.exit_code == 137, ended.cause
    assert running(image) == [stranger]
    podman("rm", "-f", "-t", "0", stranger)
