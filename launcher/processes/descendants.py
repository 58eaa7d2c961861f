"""Record of all processes that a server started, in its run directory, so that it outlives the process that wrote it.

A process is identified by its pid and start time, never by its environment alone, because a server that sets its
process title overwrites the environment. The record holds living processes only.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from launcher.json_file import write_json
from machine.identity import boot_id
from machine.process_start import all_processes, process_start_s, same_process

FILE = "descendants.json"
LOOK_EVERY_S = 1.0
LEAST_REST = 100  # times the CPU time of one scan: at most 1 % of a core, however many processes the machine has


class DescendantRecord:
    """Writes the record of one run directory if it has changed."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._recorded: list[dict[str, Any]] | None = None

    def keep(self, processes: Iterable[psutil.Process]) -> None:
        """Replace the record; on a full disk the older record remains."""
        records = [record for record in map(_describe, processes) if record]
        if records != self._recorded:
            with suppress(OSError):
                write_json(self._path, {"boot_id": boot_id(), "processes": records}, is_durable=False)
                self._recorded = records


class DescendantWatch:
    """Records this process's descendants: immediately when an orphan is reparented to it, otherwise every second."""

    def __init__(self, directory: Path) -> None:
        self._record = DescendantRecord(directory)
        self.last_seen: list[psutil.Process] = []  # at the last scan
        self._children = ""
        self._due_s = 0.0

    def update(self) -> bool:
        """Scan and record if due, and return whether it was; an unrecorded orphan would be lost with this process."""
        children, began_s, used_s = _own_children(), time.monotonic(), time.thread_time()
        if children == self._children and began_s < self._due_s:
            return False
        self._children = children
        self.last_seen = descendants(psutil.Process())
        self._record.keep(self.last_seen)
        self._due_s = began_s + max(LOOK_EVERY_S, LEAST_REST * (time.thread_time() - used_s))
        return True


def _own_children() -> str:
    """Return the kernel's list of this process's children, one small read; empty if the kernel has none."""
    with suppress(OSError):
        return Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return ""


def recorded_processes(directory: Path) -> list[psutil.Process]:
    """Return the living processes of the record, each verified by its recorded start time."""
    path = directory / FILE
    content = json.loads(path.read_text()) if path.exists() else {}
    if not content or content["boot_id"] != boot_id():
        return []
    processes = (same_process(record["pid"], record["start_s"]) for record in content["processes"])
    return [process for process in processes if process]


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Return the living descendants of a process, complete even if some end during the walk."""
    with suppress(psutil.NoSuchProcess):
        return [child for child in process.children(recursive=True) if is_living(child)]
    return []


def session_members(sessions: Collection[int]) -> list[psutil.Process]:
    """Return the living processes of these sessions."""
    members = []
    for process in all_processes() if sessions else ():
        with suppress(ProcessLookupError, PermissionError):
            if os.getsid(process.pid) in sessions and is_living(process):
                members.append(process)
    return members


def is_living(process: psutil.Process) -> bool:
    """Whether the process runs or could still run; a zombie does not."""
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def name_of(process: psutil.Process) -> str:
    """Return the process name; '?' if it is gone."""
    with suppress(psutil.Error, OSError):
        return str(process.name())
    return "?"


def _describe(process: psutil.Process) -> dict[str, Any] | None:
    with suppress(psutil.NoSuchProcess, ProcessLookupError):
        return {
            "pid": process.pid,
            "start_s": process_start_s(process.pid),
            "session": os.getsid(process.pid),
            "group": os.getpgid(process.pid),
            "name": name_of(process),
        }
    return None
