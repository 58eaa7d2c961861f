from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from domain import new_run_id, utc_now
from launcher.json_file import write_json
from launcher.processes.process import (
    LOST,
    LOST_AT_BOOT,
    ProcessSpec,
    marked_processes,
    process_status,
    processes_of,
    server_process,
    shim_process,
    shim_secrets,
    start_shim,
    write_spec,
)
from launcher.processes.stopping import stop_process
from machine.process_start import process_start_s, same_process
from tests.launcher.servers import marked, wait_for

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


class Started:
    """One process under a shim, for a test."""

    def __init__(self, directory: Path) -> None:
        self.marker = new_run_id(utc_now())
        self.directory = directory / self.marker
        self.shim: subprocess.Popen[bytes] | None = None

    def start(self, argv: list[str], cwd: str = "/", env: dict[str, str] | None = None) -> None:
        write_spec(ProcessSpec(argv, cwd, env or {}), self.directory)
        self.shim = start_shim(self.directory, {})

    def wait(self, state: str) -> None:
        wait_for(lambda: self.shim and (self.shim.poll() or True) and process_status(self.directory).state == state)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    started = Started(tmp_path)
    yield started
    for process in marked(started.marker):
        process.kill()
    if started.shim:
        started.shim.kill()
        started.shim.wait()


def test_process_is_found_by_its_directory_alone(started: Started) -> None:
    assert process_status(started.directory).state == "absent"
    started.start(SLEEP)
    started.wait("alive")
    status = process_status(started.directory)
    assert status.pid and status.is_supervised and status.started_at and status.exit is None
    assert same_process(status.pid, status.pid_birth_s)
    assert [p.pid for p in processes_of(started.directory)] == [status.pid]
    assert os.getsid(status.pid) == status.pid != os.getsid(0)


def test_exit_codes_and_signals_are_written_down(started: Started) -> None:
    started.start([sys.executable, "-c", "import sys; sys.exit(7)"])
    started.wait("ended")
    end = process_status(started.directory).exit
    assert end and (end.exit_code, end.signal, end.cause) == (7, None, None) and end.ended_at
    document = json.loads((started.directory / "exit.json").read_text())
    assert document["exit_code"] == 7


@pytest.mark.parametrize(
    ("argv", "cwd", "cause"),
    [
        (["no-such-program"], "/", "The executable no-such-program was not found."),
        (["/etc"], "/", "/etc is not executable (permission denied)."),
        (["true"], "/no/such", "The working directory /no/such does not exist."),
        ([__file__], "/", f"{__file__} is not executable (permission denied)."),
    ],
)
def test_what_cannot_be_started_has_a_cause(started: Started, argv: list[str], cwd: str, cause: str) -> None:
    started.start(argv, cwd)
    started.wait("ended")
    end = process_status(started.directory).exit
    assert end and end.exit_code is None and end.signal is None and end.cause == cause


def test_shim_forwards_sigterm_ignores_terminal(started: Started) -> None:
    started.start(SLEEP)
    started.wait("alive")
    shim = shim_process(started.directory)
    assert shim
    shim.send_signal(signal.SIGINT)
    shim.send_signal(signal.SIGHUP)
    assert process_status(started.directory).is_supervised
    shim.send_signal(signal.SIGTERM)
    started.wait("ended")
    end = process_status(started.directory).exit
    assert end and end.signal == signal.SIGTERM


def test_server_signals_behave_as_by_hand(started: Started) -> None:
    code = (
        "import signal as s; print(s.getsignal(s.SIGINT) is s.default_int_handler, s.getsignal(s.SIGHUP) == s.SIG_DFL)"
    )
    started.start([sys.executable, "-c", code])
    started.wait("ended")
    assert (started.directory / "server.log").read_text() == "True True\n"


def test_server_without_shim_lacks_exit_code(started: Started) -> None:
    started.start(SLEEP)
    started.wait("alive")
    assert started.shim
    started.shim.kill()
    started.wait("alive")
    status = wait_for(lambda: not process_status(started.directory).is_supervised and process_status(started.directory))
    assert status.pid
    report = stop_process(started.directory, 5.0)
    assert report.is_clean and marked(started.marker) == []
    end = process_status(started.directory).exit
    assert end and (end.exit_code, end.signal, end.cause) == (None, None, LOST)


def test_server_of_dead_shim_is_found_by_marker(started: Started) -> None:
    started.start(SLEEP)
    started.wait("alive")
    pid = process_status(started.directory).pid
    assert started.shim
    started.shim.kill()
    started.shim.wait()
    (started.directory / "shim.json").unlink()
    assert process_status(started.directory).pid == pid
    stop_process(started.directory, 5.0)
    assert marked_processes(started.marker) == []


def test_child_ending_during_listing_hides_none(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    started.start(SLEEP)
    started.wait("alive")
    ending, living = (subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL) for _ in range(2))
    children = [psutil.Process(child.pid) for child in (ending, living)]
    ending.kill()
    ending.wait()
    monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: children)  # the moment is too short to hit
    assert living.pid in {process.pid for process in processes_of(started.directory)}
    living.kill()
    living.wait()


def test_shim_ending_during_query_has_no_secrets(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    ending = subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL)
    process = psutil.Process(ending.pid)
    ending.kill()
    ending.wait()
    monkeypatch.setattr(
        "launcher.processes.process.shim_process", lambda directory: process
    )  # the moment is too short to hit
    assert shim_secrets(started.directory) == {}


# The two tests below fake what shim.json says: a pid cannot be made to come round again, nor the machine to restart.
def test_reused_pid_is_never_the_server(started: Started, tmp_path: Path) -> None:
    stranger = subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL)
    start_s = process_start_s(stranger.pid)
    write_spec(ProcessSpec(SLEEP, "/"), started.directory)
    fields = {
        "marker": started.marker,
        "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "shim_pid": stranger.pid,
        "shim_birth_s": start_s - 100,
        "server_pid": stranger.pid,
        "server_birth_s": start_s - 100,
        "started_at": utc_now().isoformat(),
    }
    write_json(started.directory / "shim.json", fields)
    assert process_status(started.directory).state == "ended"
    assert processes_of(started.directory) == []
    stop_process(started.directory, 0.1)
    assert stranger.poll() is None, "it was ended, and was not ours"
    write_json(started.directory / "shim.json", {**fields, "server_birth_s": start_s})
    assert process_status(started.directory).pid == stranger.pid, "with its true start time it is the server"
    stranger.kill()
    stranger.wait()


def test_older_shim_record_without_births_is_read(started: Started) -> None:
    started.start(SLEEP)
    started.wait("alive")
    path = started.directory / "shim.json"
    document = json.loads(path.read_text())
    write_json(path, {name: value for name, value in document.items() if not name.endswith("_birth_s")})
    status = process_status(started.directory)
    assert (status.state, status.pid, status.pid_birth_s) == (
        "alive",
        document["server_pid"],
        document["server_birth_s"],
    )
    assert status.is_supervised and shim_process(started.directory).pid == document["shim_pid"]
    assert stop_process(started.directory, 5.0).is_clean
    assert process_status(started.directory).exit.signal == signal.SIGTERM


def test_after_reboot_everything_has_ended(started: Started) -> None:
    started.start(SLEEP)
    started.wait("alive")
    for process in [shim_process(started.directory), *marked(started.marker)]:
        assert process
        process.kill()
    started.wait("ended")
    document = json.loads((started.directory / "shim.json").read_text())
    write_json(started.directory / "shim.json", {**document, "boot_id": "another boot"})
    status = process_status(started.directory)
    assert status.state == "ended" and status.exit and status.exit.cause == LOST_AT_BOOT


def test_a_spec_holds_what_it_was_given(started: Started) -> None:
    spec = ProcessSpec(["a", "b c"], "/", {"A": "1"})
    write_spec(spec, started.directory)
    assert json.loads((started.directory / "spec.json").read_text()) == {"marker": started.marker, **asdict(spec)}


def test_exit_code_waits_for_disk_space(started: Started, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("a small tmpfs cannot be mounted here")
    try:
        started.directory = disk / started.marker
        started.start([sys.executable, "-c", "import sys; sys.stdin.read(); import time; time.sleep(1.5); sys.exit(5)"])
        started.wait("alive")
        with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 4096)
        wait_for(lambda: server_process(started.directory) is None)
        assert process_status(started.directory).state != "ended", "its shim still has the exit code to write"
        (disk / "filler").unlink()
        started.wait("ended")
        end = process_status(started.directory).exit
        assert end and end.exit_code == 5
        assert started.shim
        started.shim.wait()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
