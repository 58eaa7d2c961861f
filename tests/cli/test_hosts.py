"""`./pitwall host` and `./pitwall shim`, with a real sshd on loopback in between."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands.presets import Needs
from domain import Run, RunState
from launcher.processes.process import ROOT
from launcher.remote.hosts import HostBook
from launcher.remote.remote_checks import check_on_host
from launcher.runs.supervisor import Supervisor
from tests.launcher.remote.sshd import TARGET, Box, needs_sshd, running_box
from tests.launcher.servers import DictStore, marked, request_for, wait_for_state

pytestmark = [needs_sshd, pytest.mark.ssh]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with running_box(tmp_path / "box") as box:
        yield box


def pitwall(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"PITWALL_DATA": str(data)}
    return subprocess.run([ROOT / "pitwall", *words], env=environ, capture_output=True, text=True)


def add(box: Box, data: Path, *more: str, target: str = TARGET) -> subprocess.CompletedProcess[str]:
    words = ("--folder", str(box.checkout), "--ssh-config", str(box.place / "config"), *more)
    return pitwall(data, "host", "add", *words, "--", "gpu-box", target)


def test_hosts_are_added_listed_and_removed(box: Box, tmp_path: Path) -> None:
    data = tmp_path / "data"
    added = add(box, data, "--json")
    assert added.returncode == 0, added.stderr
    assert len(json.loads(added.stdout)["machine_id"]) == 12
    assert f"gpu-box: {TARGET}" in pitwall(data, "host", "list").stdout
    assert pitwall(data, "host", "remove", "gpu-box").returncode == 0
    assert pitwall(data, "host", "list").stdout == "There are no hosts.\n"


def test_option_like_names_never_reach_ssh(box: Box, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    done = add(box, tmp_path / "data", target=f"-oProxyCommand=touch {trap}")
    assert done.returncode == 1 and "is not a valid ssh host" in done.stderr and "Traceback" not in done.stderr
    assert not trap.exists()


def test_a_host_that_does_not_answer_is_not_added(box: Box, tmp_path: Path) -> None:
    box.stop()
    done = add(box, tmp_path / "data")
    assert (done.returncode, done.stderr) == (
        1,
        f"gpu-box refuses ssh connections: is its ssh server running? Try `ssh {TARGET}`.\n",
    )
    assert HostBook(tmp_path / "data" / "hosts.json").all() == []


def test_a_machine_says_what_it_lacks(box: Box) -> None:
    config = request_for().config.model_copy(update={"argv": ("gone-server",), "model": "/gone/model.gguf"})
    check = check_on_host(box.host, config, Needs(gpu_count=99))
    assert any("gone-server was not found on the PATH" in lack for lack in check.lacks)
    assert any("GPU" in lack for lack in check.lacks)


def test_over_there_servers_are_listed_and_ended(box: Box, tmp_path: Path) -> None:
    """As somebody does who finds one that its Pitwall could not end."""
    store = DictStore()
    book = HostBook(tmp_path / "hosts.json")
    book.add(box.host)
    supervisor = Supervisor(store, tmp_path / "runs", events=store.take, hosts=book)
    supervisor.start()
    run = supervisor.launch(request_for(on_host="gpu-box"))
    ready = wait_for_state(store, run.id, RunState.READY, RunState.FAILED)
    assert ready.state is RunState.READY, ready.cause
    over_there = box.place / "data"
    assert pitwall(over_there, "shim", "list").stdout == f"{run.id}\n"
    assert pitwall(over_there, "shim", "stop", "x").returncode == 1
    done = pitwall(over_there, "shim", "stop", run.id)
    assert done.returncode == 0 and "asked the server to end (SIGTERM)" in done.stdout, done.stderr
    ended: Run = wait_for_state(store, run.id, RunState.FAILED, RunState.FINISHED)
    supervisor.close()
    assert ended.cause and "was terminated (SIGTERM), not by Pitwall" in ended.cause
    assert marked(f"ssh-{run.id}") == [] and "shim list" not in ended.cause


def test_an_order_that_is_none_is_refused(tmp_path: Path) -> None:
    environ = os.environ | {"PITWALL_DATA": str(tmp_path)}
    for order in ("", "{}\n", '{"order": "stop", "run_id": "../../x", "grace_s": 1}\n', "[" * 1000 + "\n"):
        argv = [ROOT / "pitwall", "shim", "-"]
        process = subprocess.run(argv, env=environ, input=order, capture_output=True, text=True, check=True)
        assert process.stdout.startswith("pitwall-shim 1\n") and "has a different version" in process.stdout
    assert list(tmp_path.iterdir()) == []
