"""The process trees of runs, told apart from later processes with the same number."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import psutil

TABLE_KEPT_S = 2.0  # the kernel's process list is long; a child that starts is seen this much later at most
SAME_START_S = 0.05  # psutil rounds start times to the clock tick


class ProcessTable:
    """Who is whose child, listed every two seconds for all runs together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: dict[int, list[int]] = {}
        self._listed_at: float | None = None
        self._held: dict[int, psutil.Process] = {}

    def tree(self, pid: int, started_at: float | None, mono_s: float) -> list[psutil.Process]:
        """The process and its descendants; empty when it has ended or its number is another process's now."""
        with self._lock:
            root = self._process(pid)
            if root is None or (started_at is not None and abs(root.create_time() - started_at) > SAME_START_S):
                return []
            self._list(mono_s)
            found = [process for child in self._descendants(pid) if (process := self._process(child))]
            return [root, *(p for p in found if p.create_time() >= root.create_time() - SAME_START_S)]

    def _process(self, pid: int) -> psutil.Process | None:
        """The process with this number now; kept, for a new object costs more than a look."""
        held = self._held.get(pid)
        if held is not None and held.is_running():
            return held
        self._held.pop(pid, None)
        try:
            self._held[pid] = psutil.Process(pid)
        except psutil.NoSuchProcess:
            return None
        return self._held[pid]

    def _list(self, mono_s: float) -> None:
        if self._listed_at is not None and mono_s - self._listed_at < TABLE_KEPT_S:
            return
        self._listed_at = mono_s
        children: dict[int, list[int]] = {}
        for process in psutil.process_iter(["ppid"]):
            children.setdefault(process.info["ppid"], []).append(process.pid)
        self._children = children
        alive = {pid for group in children.values() for pid in group}
        self._held = {pid: process for pid, process in self._held.items() if pid in alive}

    def _descendants(self, pid: int) -> Iterable[int]:
        waiting = list(self._children.get(pid, ()))
        while waiting:
            child = waiting.pop()
            yield child
            waiting += self._children.get(child, ())
