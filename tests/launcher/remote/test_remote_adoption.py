"""Pitwall is killed while a server of its runs on another machine; the next one follows it on, and can end it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from domain import RunState
from tests.launcher.remote.sshd import Box, book_with, needs_sshd, running_box
from tests.launcher.runs.test_adoption import FileStore, make_supervisor
from tests.launcher.servers import marked, wait_for, wait_for_state
from tests.ports import free_ports

pytestmark = [needs_sshd, pytest.mark.ssh]
OVER = (RunState.FINISHED, RunState.FAILED)
HOLDER = """
import sys, time, pathlib
from domain import Config, WorkloadSpec
from launcher.checks.launch_request import LaunchRequest
from launcher.remote.hosts import HostBook
from tests.launcher.runs.test_adoption import make_supervisor
from tests.launcher.servers import server_argv
place, port = pathlib.Path(sys.argv[1]), int(sys.argv[2])
supervisor = make_supervisor(place, hosts=HostBook(place / "hosts.json"))
supervisor.start()
config = Config(argv=server_argv(port), host="127.0.0.1", port=port)
supervisor.launch(LaunchRequest(config, name="far", ready_path="/h", on_host="gpu-box"))
print("launched", flush=True)
time.sleep(600)
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with running_box(tmp_path / "box") as box:
        yield box


@pytest.mark.parametrize("moment", [None, RunState.READY], ids=["at-once", "when-ready"])
def test_kill_9_loses_no_server_and_no_line(tmp_path: Path, box: Box, moment: RunState | None) -> None:
    book_with(tmp_path / "hosts.json", box.host)
    [port] = free_ports(1)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), str(port)], stdout=subprocess.PIPE)
    assert holder.stdout and holder.stdout.readline() == b"launched\n"
    store = FileStore(tmp_path / "store")
    [run] = store.runs()
    if moment:
        assert wait_for_state(store, run.id, moment, *OVER).state is moment
    holder.kill()
    holder.wait()
    supervisor = make_supervisor(tmp_path)
    assert [one.id for one in supervisor.adopt_all()] == [run.id]
    supervisor.start()
    ready = wait_for_state(store, run.id, RunState.READY, *OVER)
    assert ready.state is RunState.READY, ready.cause
    wait_for(lambda: httpx.get(f"{ready.base_url}/health").text == "ok")
    [server] = [one for one in marked(f"ssh-{run.id}") if str(port) in one.cmdline()]
    assert ready.log_path
    log = Path(ready.log_path)
    supervisor.stop(run.id)
    ended = wait_for_state(store, run.id, *OVER)
    supervisor.close()
    assert (ended.state, ended.cause) == (RunState.FINISHED, None)
    assert not server.is_running() and marked(run.id) == [] == marked(f"ssh-{run.id}")
    assert log.read_text().count("hello from the server") == 1
