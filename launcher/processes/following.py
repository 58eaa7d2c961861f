"""Which of the processes that a script leaves running is its server: the one that listens on the run's port.

A script may start daemons first and the server last, as that of a Ray cluster does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from machine.process_start import process_start_s

LOOK_EVERY_S = 1.0
LEAST_REST = 100  # times the CPU time that a look takes: at most 1 % of a core
TABLES, LISTENS = ("/proc/net/tcp", "/proc/net/tcp6"), "0A"  # see proc_net_tcp in the kernel's documentation


class Following:
    """What a shim knows of its script's processes; all that it is shown are its own descendants."""

    def __init__(self, port: int | None) -> None:
        self._port = port
        self._helpers_own: set[psutil.Process] = set()
        self._due_s = 0.0
        self.is_server_known = port is None

    def note(self, script_pid: int, processes: Iterable[psutil.Process]) -> None:
        """Remember what the script did not start itself: what a helper leaves, as `ray start` does, is its daemon."""
        above = {os.getpid(), script_pid}
        self._helpers_own.update(process for process in processes if _parent(process) not in above)

    def first_of(self, left: Sequence[psutil.Process]) -> psutil.Process | None:
        """Before any of them listens: the oldest that the script started itself, or else the oldest."""
        own = [process for process in left if process not in self._helpers_own]
        return min(own or left, key=lambda process: process_start_s(process.pid), default=None)

    def listener(self, processes: Sequence[psutil.Process]) -> psutil.Process | None:
        """Our own child that listens on the port, or whose descendant does; looked for now and then until found."""
        began_s, used_s = time.monotonic(), time.thread_time()
        if self._port is None or self.is_server_known or began_s < self._due_s:
            return None
        has_one = has_listener(self._port)
        found = next((one for one in processes if self._listens(one)), None) if has_one else None
        self._due_s = began_s + max(LOOK_EVERY_S, LEAST_REST * (time.thread_time() - used_s))
        self.is_server_known = found is not None
        return _own_child(found, processes) if found else None

    def _listens(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error, OSError):
            connections = process.net_connections(kind="tcp")
            return any(c.status == psutil.CONN_LISTEN and c.laddr.port == self._port for c in connections)
        return False


def has_listener(port: int) -> bool:
    """Whether anything at all may listen there: two small reads, where a look at each process costs much more."""
    try:
        tables = [Path(path).read_text().splitlines()[1:] for path in TABLES]
    except OSError:
        return True
    fields = (line.split(maxsplit=4) for table in tables for line in table)
    return any(state == LISTENS and local.endswith(f":{port:04X}") for _, local, _, state, _ in fields)


def _own_child(process: psutil.Process, processes: Sequence[psutil.Process]) -> psutil.Process | None:
    """The child of this process of whose tree it is."""
    by_pid = {one.pid: one for one in processes}
    at: psutil.Process | None = process
    while at and (parent := _parent(at)) != os.getpid():
        at = by_pid.get(parent) if parent else None
    return at


def _parent(process: psutil.Process) -> int | None:
    with suppress(psutil.Error):
        return int(process.ppid())
    return None
