"""A process whose pid was another's before is seen at the first look, however long ago the look before it was."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from launcher.processes.descendants import session_members
from launcher.processes.process import SHIM_MARKER, marked_processes, process_status
from tests.launcher.servers import wait_for

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")  # the kernel gives the next number out, see proc(5)
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
MARKER = "the-run-of-a-reused-pid"


def sleep(environ: Mapping[str, str] = {}) -> subprocess.Popen[bytes]:
    return subprocess.Popen(SLEEP, env={**os.environ, **environ}, start_new_session=True)


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def sleep_as(pid: int) -> subprocess.Popen[bytes] | None:
    """A process with this pid, unless another one was quicker."""
    LAST_PID.write_text(str(pid - 1))
    process = sleep({SHIM_MARKER: MARKER})
    if process.pid == pid:
        return process
    end(process)
    return None


@pytest.fixture
def reused() -> Iterator[subprocess.Popen[bytes]]:
    """It has the pid of a process that psutil.process_iter saw and that has ended since."""
    if not os.access(LAST_PID, os.W_OK):
        pytest.skip("the next pid may not be chosen here")
    before = sleep()
    assert before.pid in {process.pid for process in psutil.process_iter()}
    time.sleep(0.05)  # births are whole ticks of 10 ms
    end(before)
    process = wait_for(lambda: sleep_as(before.pid))
    # The kernel shows no environment for a moment while a program is being loaded.
    wait_for(lambda: SHIM_MARKER in psutil.Process(process.pid).environ())
    yield process
    end(process)


def test_reused_pid_is_found_by_its_marker(reused: subprocess.Popen[bytes]) -> None:
    assert [process.pid for process in marked_processes(MARKER, SHIM_MARKER)] == [reused.pid]


def test_reused_pid_is_found_by_its_session(reused: subprocess.Popen[bytes]) -> None:
    assert [process.pid for process in session_members({reused.pid})] == [reused.pid]


def test_run_lasts_while_its_shim_lives(tmp_path: Path) -> None:
    shim = sleep()
    assert process_status(tmp_path, shim).state == "starting"
    end(shim)
    assert process_status(tmp_path, shim).state == "absent"
