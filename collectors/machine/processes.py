"""The process trees of runs, distinguished from later processes that reuse a pid."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import psutil

from machine.process_start import SAME_START_S, parent_pid, process_start_s

TABLE_KEPT_S = 2.0  # the kernel's process list is long; a child that starts is seen this much later at most


class _Held(NamedTuple):
    process: psutil.Process
    start_s: float


class ProcessTable:
    """Who is whose child, listed every two seconds for all runs together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: dict[int, list[int]] = {}
        self._listed_at: float | None = None
        self._held: dict[int, _Held] = {}

    def tree(self, pid: int, start_s: float | None, mono_s: float) -> list[psutil.Process]:
        """The process and its descendants; empty when it has ended or its number is another process's now."""
        with self._lock:
            root = self._process(pid)
            if root is None or (start_s is not None and abs(root.start_s - start_s) > SAME_START_S):
                return []
            self._list(mono_s)
            found = [held for child in self._descendants(pid) if (held := self._process(child))]
            return [root.process, *(held.process for held in found if held.start_s >= root.start_s)]

    def _process(self, pid: int) -> _Held | None:
        """The process with this number now; kept, for a new object costs more than a look."""
        held = self._held.get(pid)
        if held is not None and held.process.is_running():
            return held
        self._held.pop(pid, None)
        try:
            self._held[pid] = _Held(psutil.Process(pid), process_start_s(pid))
        except psutil.NoSuchProcess:
            return None
        return self._held[pid]

    def _list(self, mono_s: float) -> None:
        if self._listed_at is not None and mono_s - self._listed_at < TABLE_KEPT_S:
            return
        self._listed_at = mono_s
        children: dict[int, list[int]] = {}
        for child in psutil.pids():
            with suppress(psutil.NoSuchProcess):
                children.setdefault(parent_pid(child), []).append(child)
        self._children = children
        alive = {pid for group in children.values() for pid in group}
        self._held = {pid: held for pid, held in self._held.items() if pid in alive}

    def _descendants(self, pid: int) -> Iterable[int]:
        waiting = list(self._children.get(pid, ()))
        while waiting:
            child = waiting.pop()
            yield child
            waiting += self._children.get(child, ())
