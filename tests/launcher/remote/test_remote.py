"""Runs whose servers are started by ssh on another machine: a real sshd, real shims, real small servers."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from domain import Config, Run, RunState, WorkloadSpec
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.remote.records import read_remote_status, write_remote_status
from launcher.runs.orphan_cleanup import OrphanCleanup
from launcher.runs.supervisor import Supervisor
from machine.ports import is_port_free
from machine.process_start import all_processes
from tests.launcher.remote.sshd import Box, book_with, needs_sshd, running_box
from tests.launcher.servers import DictStore, marked, request_for, wait_for, wait_for_state
from tests.ports import free_ports

pytestmark = [needs_sshd, pytest.mark.ssh]
OVER = (RunState.FINISHED, RunState.FAILED)
ON_BOX: dict[str, Any] = {"on_host": "gpu-box"}


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    with running_box(tmp_path / "box") as box:
        yield box


@pytest.fixture
def launching(make_supervisor: Callable[..., Supervisor], box: Box, tmp_path: Path) -> Supervisor:
    return make_supervisor(hosts=book_with(tmp_path / "hosts.json", box.host))


def log_of(run: Run) -> str:
    assert run.log_path
    return Path(run.log_path).read_text()


def marker_of(run: Run) -> str:
    """The marker of what runs on the box."""
    return f"ssh-{run.id}"


def living(word: str) -> Iterator[psutil.Process]:
    """The processes that were called with this word."""
    for process in all_processes():
        with suppress(psutil.Error):
            if word in process.cmdline():
                yield process


def test_server_is_launched_followed_and_stopped(launching: Supervisor, store: DictStore, box: Box) -> None:
    request = request_for(**ON_BOX)
    run = launching.launch(request)
    ready = wait_for_state(store, run.id, RunState.READY, *OVER)
    assert ready.state is RunState.READY, ready.cause
    assert httpx.get(f"{ready.base_url}/health").text == "ok"
    wait_for(lambda: (box.shims / marker_of(run) / "server.log").read_text() == log_of(ready))
    assert "hello from the server plain" in log_of(ready)
    known = wait_for(lambda: (now := store.run(run.id)) and "host" in (now.provenance or {}) and now)
    assert known.on_host == "gpu-box" and known.provenance["words"][0] == sys.executable
    directory = Path(str(ready.run_dir))
    write_remote_status(
        directory, read_remote_status(directory).model_copy(update={"passed": ("It passed a limit.",)})
    )  # as its client
    wait_for(lambda: [event for event in store.events if (event.run_id, event.text) == (run.id, "It passed a limit.")])
    launching.stop(run.id)
    ended = wait_for_state(store, run.id, *OVER)
    assert (ended.state, ended.cause, ended.exit_signal) == (RunState.FINISHED, None, signal.SIGTERM)
    assert marked(run.id) == [] == marked(marker_of(run)) and request.config.port and is_port_free(request.config.port)
    assert not (box.shims / marker_of(run) / "server.log").exists(), "its folder over there is tidied up"


def test_host_claiming_other_machine_is_refused(
    make_supervisor: Callable[..., Supervisor], store: DictStore, box: Box, tmp_path: Path
) -> None:
    host = box.host.model_copy(update={"machine_id": "the one that was added"})
    supervisor = make_supervisor(hosts=book_with(tmp_path / "hosts.json", host))
    run = supervisor.launch(request_for(**ON_BOX))
    was = store.run(run.id)
    told = wait_for(lambda: (now := store.run(run.id)) and now.note and now)
    assert told.note.startswith("gpu-box reports that it is a different machine than the one that was added")
    assert "host" not in (told.provenance or {}) and told.machine_id == was.machine_id
    assert wait_for_state(store, run.id, RunState.READY, *OVER).state is RunState.READY
    supervisor.stop(run.id)
    wait_for_state(store, run.id, *OVER)


def test_command_reaches_the_server_verbatim(launching: Supervisor, store: DictStore, tmp_path: Path) -> None:
    words = ["a b", "it's", '"quoted"', "$(touch /tmp/never)", "`id`", "line\nline", "; rm -rf /", "ü€", "\\", "*", ""]
    out = tmp_path / "said.json"
    script = f"import json, os, sys; json.dump([sys.argv[1:], os.environ['ODD']], open({str(out)!r}, 'w'))"
    odd = "$(id) 'x'\n\"y\""
    config = Config(argv=(sys.executable, "-c", script, *words), env={"ODD": odd}, port=free_ports(1)[0])
    run = launching.launch(LaunchRequest(config, **ON_BOX))
    wait_for_state(store, run.id, *OVER)
    assert json.loads(out.read_text()) == [words, odd]


def test_secrets_reach_the_server_but_no_file(
    launching: Supervisor, store: DictStore, tmp_path: Path, box: Box
) -> None:
    out = tmp_path / "said.json"
    script = f"import json, os, sys; json.dump([sys.argv[1:], os.environ['HF_TOKEN']], open({str(out)!r}, 'w'))"
    argv = (sys.executable, "-c", script, "--api-key", "sk-quite-secret-1")
    config = Config(argv=argv, env={"HF_TOKEN": "hf_abcdefghijklmnopqrst"}, port=free_ports(1)[0])
    run = launching.launch(LaunchRequest(config, **ON_BOX))
    wait_for(out.exists)
    contents = [
        path.read_bytes() for place in (box.shims, tmp_path / "runs") for path in place.rglob("*") if path.is_file()
    ]
    wait_for_state(store, run.id, *OVER)
    assert json.loads(out.read_text()) == [["--api-key", "sk-quite-secret-1"], "hf_abcdefghijklmnopqrst"]
    assert contents and not any(b"quite-secret" in content or b"hf_abcdef" in content for content in contents)


@pytest.mark.parametrize(
    ("argv", "cause"),
    [
        (("gone-server",), "The executable gone-server was not found on the PATH: install it, or give its full path."),
        (("/gone/server",), "The executable /gone/server does not exist: install it, or give its path."),
        ((sys.executable, "-c", "print('no room'); exit(3)"), "The server exited with code 3 before it was ready."),
        ((sys.executable, "-c", "import os; os.abort()"), "The server aborted itself (SIGABRT) before it was ready."),
    ],
)  # fmt: skip
def test_a_failure_is_told_as_it_is_here(
    launching: Supervisor, store: DictStore, argv: tuple[str, ...], cause: str
) -> None:
    config = Config(argv=argv, port=free_ports(1)[0])
    run = wait_for_state(store, launching.launch(LaunchRequest(config, **ON_BOX)).id, *OVER)
    assert (run.state, run.cause) == (RunState.FAILED, cause)
    if "no room" in argv[-1]:
        assert (run.exit_code, run.cause_line) == (3, "no room")


def test_a_port_that_is_taken_over_there_is_told(launching: Supervisor, store: DictStore) -> None:
    first = launching.launch(request_for(**ON_BOX))
    ready = wait_for_state(store, first.id, RunState.READY, *OVER)
    with pytest.raises(LaunchRefusedError, match=f"Port {ready.config.port} of gpu-box belongs to the run 'plain'"):
        launching.launch(request_for(port=ready.config.port, **ON_BOX))
    second = launching.launch_batch([request_for(**ON_BOX)], one_after_the_other=False)[0]
    assert wait_for_state(store, second.id, RunState.READY, *OVER).state is RunState.READY, "other ports are free"


@pytest.mark.parametrize("kind", ["deaf", "forks", "hides", "engine-core"])
def test_stop_leaves_nothing_over_there(launching: Supervisor, store: DictStore, kind: str) -> None:
    request = request_for(kind, **ON_BOX)
    run = launching.launch(request)
    assert wait_for_state(store, run.id, RunState.READY, *OVER).state is RunState.READY
    launching.stop(run.id)
    ended = wait_for_state(store, run.id, *OVER)
    assert ended.state is RunState.FINISHED, ended.cause
    assert marked(marker_of(run)) == [] == marked(run.id)
    assert not list(living(f"hidden-{request.config.port}"))


def test_unknown_and_changed_host_keys_refused(launching: Supervisor, store: DictStore, box: Box) -> None:
    place = box.place / "known_hosts"
    text = place.read_text()
    place.write_text("")
    run = wait_for_state(store, launching.launch(request_for(**ON_BOX)).id, *OVER)
    assert run.cause and run.cause.startswith("ssh does not know the host key of gpu-box: connect once with `ssh box`")
    box.make_key("other")
    other_word = (box.place / "other.pub").read_text().split()[1]
    place.write_text(text.replace(text.split()[2], other_word))
    run = wait_for_state(store, launching.launch(request_for(**ON_BOX)).id, *OVER)
    assert run.cause and "differs from the one that ssh knows" in run.cause and "`ssh-keygen -R box`" in run.cause
    assert not box.shims.exists(), "nothing was asked of a machine that is not known"


def test_a_folder_without_a_pitwall_is_told(
    make_supervisor: Callable[..., Supervisor], store: DictStore, box: Box, tmp_path: Path
) -> None:
    lost = box.host.model_copy(update={"folder": "no/such place"})
    supervisor = make_supervisor(hosts=book_with(tmp_path / "hosts.json", lost))
    run = wait_for_state(store, supervisor.launch(request_for(**ON_BOX)).id, *OVER)
    assert run.cause and run.cause.startswith("There is no Pitwall in no/such place on gpu-box: clone it there")


def test_earlier_leftovers_end_before_next_start(
    launching: Supervisor, store: DictStore, box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OrphanCleanup, "step", lambda self: None)  # the start itself is looked at
    first = launching.launch(request_for(**ON_BOX))
    ready = wait_for_state(store, first.id, RunState.READY, *OVER)
    box.stop()
    launching.stop(first.id)
    wait_for_state(store, first.id, *OVER)
    assert marked(marker_of(first))
    box.start()
    second = launching.launch(request_for(port=ready.config.port, **ON_BOX))
    assert wait_for_state(store, second.id, RunState.READY, *OVER).state is RunState.READY
    assert marked(marker_of(first)) == []


def test_runs_on_two_machines_are_independent(launching: Supervisor, store: DictStore) -> None:
    request, far = request_for(), request_for(**ON_BOX)
    runs = launching.launch_batch([request, far, request_for(**ON_BOX)], one_after_the_other=True)
    for run in runs[:2]:
        wait_for_state(store, run.id, RunState.READY, *OVER)
    assert [run.id for run in launching.queued_runs()] == [runs[2].id], "the second of the box waits for the first"
    launching.cancel(runs[2].id)


def test_a_repeat_starts_on_the_same_machine(launching: Supervisor, store: DictStore, tmp_path: Path) -> None:
    config = Config(argv=(sys.executable, "-c", "import os; print('in', os.getcwd())"), port=free_ports(1)[0])
    request = LaunchRequest(config, workload=WorkloadSpec(name="load"), cwd=tmp_path, **ON_BOX)
    first = wait_for_state(store, launching.launch(request).id, *OVER)
    [again] = launching.repeat(first.id, 1)
    ended = wait_for_state(store, again.id, *OVER)
    assert ended.on_host == "gpu-box" and ended.machine_id == first.machine_id
    assert log_of(ended) == log_of(first) == f"in {tmp_path}\n"


def test_a_host_that_nobody_added_is_refused(launching: Supervisor) -> None:
    with pytest.raises(LaunchRefusedError, match="There is no host other"):
        launching.launch(request_for(on_host="other"))
