"""Finds the server among the processes that a script leaves running: the one that listens on the run's port.

A script may start daemons first and the server last, as the script of a Ray cluster does.
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
LEAST_REST = 100  # times the CPU time of one search: at most 1 % of a core
TABLES, LISTENS = ("/proc/net/tcp", "/proc/net/tcp6"), "0A"  # see proc_net_tcp in the kernel's documentation


class ScriptServerFinder:
    """Finds the server among a shim's descendants, which are the processes of its script."""

    def __init__(self, port: int | None) -> None:
        self._port = port
        self._helper_processes: set[psutil.Process] = set()
        self._due_s = 0.0
        self.is_server_known = port is None

    def note_helpers(self, script_pid: int, processes: Iterable[psutil.Process]) -> None:
        """Remember processes that the script did not start itself, such as the daemons that `ray start` leaves."""
        above = {os.getpid(), script_pid}
        self._helper_processes.update(process for process in processes if _parent(process) not in above)

    def choose_oldest(self, processes: Sequence[psutil.Process]) -> psutil.Process | None:
        """Return the oldest process that the script started itself, else the oldest; used before one listens."""
        script_children = [process for process in processes if process not in self._helper_processes]
        return min(script_children or processes, key=lambda process: process_start_s(process.pid), default=None)

    def find_listener(self, processes: Sequence[psutil.Process]) -> psutil.Process | None:
        """Return the child that listens on the port, or whose descendant does; searched periodically until found."""
        began_s, used_s = time.monotonic(), time.thread_time()
        if self._port is None or self.is_server_known or began_s < self._due_s:
            return None
        is_listening = has_listener(self._port)
        listener = next((process for process in processes if self._listens(process)), None) if is_listening else None
        self._due_s = began_s + max(LOOK_EVERY_S, LEAST_REST * (time.thread_time() - used_s))
        self.is_server_known = listener is not None
        return _own_child(listener, processes) if listener else None

    def _listens(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error, OSError):
            connections = process.net_connections(kind="tcp")
            return any(c.status == psutil.CONN_LISTEN and c.laddr.port == self._port for c in connections)
        return False


def has_listener(port: int) -> bool:
    """Whether anything may listen on the port: two small reads, far cheaper than inspecting each process."""
    try:
        tables = [Path(path).read_text().splitlines()[1:] for path in TABLES]
    except OSError:
        return True
    fields = (line.split(maxsplit=4) for table in tables for line in table)
    return any(state == LISTENS and local.endswith(f":{port:04X}") for _, local, _, state, _ in fields)


def _own_child(process: psutil.Process, processes: Sequence[psutil.Process]) -> psutil.Process | None:
    """Return the child of this process that is, or is an ancestor of, the given process."""
    by_pid = {candidate.pid: candidate for candidate in processes}
    ancestor: psutil.Process | None = process
    while ancestor and (parent := _parent(ancestor)) != os.getpid():
        ancestor = by_pid.get(parent) if parent else None
    return ancestor


def _parent(process: psutil.Process) -> int | None:
    with suppress(psutil.Error):
        return int(process.ppid())
    return None
