"""Hosts that go away, hang or cut the connection while runs are on them: a real sshd, real shims."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil
import pytest

from domain import Run, RunState
from launcher.processes.descendants import descendants, name_of
from launcher.processes.process import shim_process
from launcher.remote.orphans import read_orphan_notes
from launcher.runs import orphan_cleanup
from launcher.runs.orphan_cleanup import ORPHAN_ENDED
from launcher.runs.supervisor import Supervisor
from tests.launcher.remote.sshd import Box, book_with, kill_all, needs_sshd
from tests.launcher.remote.test_remote import ON_BOX, OVER, log_of, marker_of
from tests.launcher.remote.test_remote import box as box
from tests.launcher.remote.test_remote import launching as launching
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state

pytestmark = [needs_sshd, pytest.mark.ssh]


def ssh_of(run: Run) -> list[psutil.Process]:
    """The ssh processes of a run's client."""
    supervisor = shim_process(Path(run.run_dir or ""))
    return [descendant for descendant in descendants(supervisor) if name_of(descendant) == "ssh"] if supervisor else []


def test_a_cut_connection_is_taken_up_again(launching: Supervisor, store: DictStore, box: Box) -> None:
    run = launching.launch(request_for(**ON_BOX))
    ready = wait_for_state(store, run.id, RunState.READY, *OVER)
    [cut] = ssh_of(ready)
    cut.kill()
    wait_for(lambda: ssh_of(ready) and ssh_of(ready) != [cut] and answers(ready))
    box.stop()
    wait_for(lambda: (now := store.run(run.id)) and now.note and "refuses ssh" in now.note)
    assert marked(marker_of(run)), "the server lives on"
    box.start()
    wait_for(lambda: (now := store.run(run.id)) and now.note == "gpu-box answers again.")
    wait_for(lambda: answers(ready))
    launching.stop(run.id)
    ended = wait_for_state(store, run.id, *OVER)
    assert (ended.state, ended.cause) == (RunState.FINISHED, None) and marked(marker_of(run)) == []
    lines = [line for line in log_of(ready).splitlines() if "hello" in line]
    assert len(lines) == 1, "no line twice"


def test_a_client_that_was_killed_is_begun_again(launching: Supervisor, store: DictStore) -> None:
    run = launching.launch(request_for(**ON_BOX))
    ready = wait_for_state(store, run.id, RunState.READY, *OVER)
    kill_all(marked(run.id))
    wait_for(lambda: ssh_of(ready) and answers(ready))
    [server] = [one for one in marked(marker_of(run)) if "hello" in " ".join(one.cmdline())]
    server.kill()
    ended = wait_for_state(store, run.id, *OVER)
    assert ended.cause and "was killed by the kernel or by hand (SIGKILL)" in ended.cause
    assert log_of(ready).count("hello from the server") == 1


def test_absent_host_fails_the_run_with_advice(launching: Supervisor, store: DictStore, box: Box) -> None:
    box.stop()
    run = wait_for_state(store, launching.launch(request_for(**ON_BOX)).id, *OVER)
    assert run.state is RunState.FAILED
    assert run.cause == "gpu-box refuses ssh connections: is its ssh server running? Try `ssh box`."
    assert marked(run.id) == []


def test_stop_on_absent_host_is_tidied_later(
    make_supervisor: Callable[..., Supervisor],
    store: DictStore,
    box: Box,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(orphan_cleanup, "RETRY_S", 0.5)
    launching = make_supervisor(hosts=book_with(tmp_path / "hosts.json", box.host))
    run = launching.launch(request_for(**ON_BOX))
    wait_for_state(store, run.id, RunState.READY, *OVER)
    box.stop()
    launching.stop(run.id)
    ended = wait_for_state(store, run.id, *OVER)
    assert ended.cause and f"`./pitwall shim stop {run.id}` on that machine ends it" in ended.cause
    assert marked(run.id) == [] and marked(marker_of(run))
    box.start()
    told = wait_for(lambda: (now := store.run(run.id)) and now.note == ORPHAN_ENDED.format("gpu-box") and now)
    assert (told.state, told.cause) == (ended.state, ended.cause), "how it ended is told as it was"
    assert marked(marker_of(run)) == [] and not (box.shims / marker_of(run) / "server.log").exists()
    wait_for(lambda: read_orphan_notes(Path(run.run_dir).parent) == [])


def test_a_host_that_hangs_holds_up_nobody_else(
    make_supervisor: Callable[..., Supervisor], store: DictStore, box: Box, tmp_path: Path
) -> None:
    """Its ssh server takes connections and says nothing; another run starts, answers and ends meanwhile."""
    supervisor = make_supervisor(hosts=book_with(tmp_path / "hosts.json", box.host))
    os.kill(int((box.place / "sshd.pid").read_text()), signal.SIGSTOP)
    hung = [supervisor.launch(request_for(**ON_BOX)) for _ in range(3)]
    launch = supervisor.launch(request_for())
    assert wait_for_state(store, launch.id, RunState.READY, *OVER).state is RunState.READY
    supervisor.stop(launch.id)
    for run in hung:
        supervisor.stop(run.id)
    assert wait_for_state(store, launch.id, *OVER).state is RunState.FINISHED
    os.kill(int((box.place / "sshd.pid").read_text()), signal.SIGCONT)
    assert all(wait_for_state(store, run.id, *OVER) for run in hung)
    assert not [one for run in hung for one in marked(marker_of(run))]


def answers(run: Run) -> bool:
    try:
        return httpx.get(f"{run.base_url}/health", timeout=5).text == "ok"
    except httpx.HTTPError:
        return False
