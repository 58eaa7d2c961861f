"""Process trees of runs, distinguished from later processes that reuse a pid."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import psutil

from machine.process_start import SAME_START_S, parent_pid, process_start_s

TABLE_MAX_AGE_S = 2.0  # listing all processes is slow; a new child is seen at most this much later


class _ProcessEntry(NamedTuple):
    process: psutil.Process
    start_s: float


class ProcessTable:
    """Parent-child relations of all processes, refreshed every two seconds and shared by all runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: dict[int, list[int]] = {}
        self._listed_at: float | None = None
        self._entries: dict[int, _ProcessEntry] = {}

    def tree(self, pid: int, start_s: float | None, mono_s: float) -> list[psutil.Process]:
        """Return the process and its descendants; empty if it has ended or its pid was reused."""
        with self._lock:
            root = self._process(pid)
            if root is None or (start_s is not None and abs(root.start_s - start_s) > SAME_START_S):
                return []
            self._refresh(mono_s)
            descendants = [entry for child in self._descendants(pid) if (entry := self._process(child))]
            return [root.process, *(entry.process for entry in descendants if entry.start_s >= root.start_s)]

    def _process(self, pid: int) -> _ProcessEntry | None:
        """Return the process that has this pid now; cached, since a new object costs more than a check."""
        entry = self._entries.get(pid)
        if entry is not None and entry.process.is_running():
            return entry
        self._entries.pop(pid, None)
        try:
            self._entries[pid] = _ProcessEntry(psutil.Process(pid), process_start_s(pid))
        except psutil.NoSuchProcess:
            return None
        return self._entries[pid]

    def _refresh(self, mono_s: float) -> None:
        if self._listed_at is not None and mono_s - self._listed_at < TABLE_MAX_AGE_S:
            return
        self._listed_at = mono_s
        children: dict[int, list[int]] = {}
        for child in psutil.pids():
            with suppress(psutil.NoSuchProcess):
                children.setdefault(parent_pid(child), []).append(child)
        self._children = children
        alive = {pid for group in children.values() for pid in group}
        self._entries = {pid: entry for pid, entry in self._entries.items() if pid in alive}

    def _descendants(self, pid: int) -> Iterable[int]:
        pending = list(self._children.get(pid, ()))
        while pending:
            child = pending.pop()
            yield child
            pending += self._children.get(child, ())
