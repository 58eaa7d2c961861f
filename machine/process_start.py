"""Start times of processes in seconds after the boot, a clock that nobody can set.

Start times since the epoch shift with every step of the machine's clock, even for running processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil

SAME_START_S = 0.005  # half a clock tick: start times are whole ticks
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PPID, _STARTTIME = 1, 19  # indices of the fields after the process name, see proc_pid_stat(5)


def process_start_s(pid: int) -> float:
    """Return the seconds between the boot and the start of this process; raises psutil.NoSuchProcess."""
    return int(_stat_of(pid)[_STARTTIME]) / _TICKS_PER_S


def parent_pid(pid: int) -> int:
    """Return the pid of the current parent process; raises psutil.NoSuchProcess."""
    return int(_stat_of(pid)[_PPID])


def _stat_of(pid: int) -> list[str]:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    return stat.rpartition(")")[2].split()


def started_at_boot_s(pid: int, after_boot_s: float) -> bool:
    """Return whether the process that has this pid now started at that time; raises psutil.NoSuchProcess."""
    return abs(process_start_s(pid) - after_boot_s) < SAME_START_S


def all_processes() -> Iterator[psutil.Process]:
    """Yield every process of this machine, lowest pid first.

    Not psutil.process_iter: it caches Process objects between calls, so a new process with a reused pid is taken for
    the ended one (psutil 7.2.2, `process_iter` and `Process.is_running`).
    """
    for pid in psutil.pids():
        try:
            process = psutil.Process(pid)
        except psutil.NoSuchProcess:
            continue
        yield process


def same_process(pid: int | None, start_s: float | None) -> psutil.Process | None:
    """Return the running process with this pid and start; None if it has ended, is a zombie, or the pid was reused."""
    if pid is None or start_s is None:
        return None
    try:
        process = psutil.Process(pid)
        return process if started_at_boot_s(pid, start_s) and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None
