"""Reads the watched runs' logs, mostly their ends, so that no log can delay another.

An open() or read() of a file on a disk or server that hangs never returns. So each log is read in a daemon thread of
its own, and a read that does not return in time is left out. A read that hangs keeps its thread, and its log gets no
second one, so the number of threads needs no limit that would affect other logs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from collectors.logs.log_view import ByteRange, LogTailView, ViewLine
from domain import Run

WAIT_S = 1.0  # for all logs of one call together
LOG_LINES = 200
MOST_KEPT = 200  # logs whose read position is kept; the least recently requested are dropped
HANGS = "reading the log timed out: its disk or file server may hang"


class LogEnd(NamedTuple):
    """Lines of one log, the newest last, and their byte range, or the reason why there are none."""

    lines: list[ViewLine]
    problem: str | None = None
    shown_range: ByteRange | None = None


class LogView(Protocol):
    """A reader of one log, such as collectors.logs.log_view.LogTailView."""

    problem: str | None
    shown_range: ByteRange | None

    def lines(self, limit: int, since: int | None) -> list[ViewLine]:
        """Return at most `limit` lines, the last ones or those from byte `since` on; none if `problem` is set."""
        ...


def open_log_view(run: Run) -> LogView:
    """Return a view of a run's log with its engine's grammar; the file is opened at the first request for lines."""
    return LogTailView(Path(run.log_path or ""), run.config.engine)


@dataclass
class _LogRead:
    """One log and its current or last read."""

    view: LogView
    limit: int
    since: int | None = None
    is_done: threading.Event = field(default_factory=threading.Event)
    end: LogEnd = field(default_factory=lambda: LogEnd([]))

    def work(self) -> None:
        try:
            self.end = LogEnd(self.view.lines(self.limit, self.since), self.view.problem, self.view.shown_range)
        finally:
            self.is_done.set()


class LogReads:
    """Reads several logs at a time; serves one caller at a time."""

    def __init__(
        self, view: Callable[[Run], LogView] = open_log_view, limit: int = LOG_LINES, wait_s: float = WAIT_S
    ) -> None:
        """`limit`: lines per log."""
        self._view = view
        self._limit = limit
        self._wait_s = wait_s
        self._reads: dict[str, _LogRead] = {}
        self._lock = threading.Lock()

    def ends(self, runs: Iterable[Run], since: Mapping[str, int | None] | None = None) -> dict[str, LogEnd]:
        """Return log ends by run id; a run without a log has none. `since`: read from this byte, not the last lines."""
        with self._lock:
            log_starts = {run.id: self._start(run, (since or {}).get(run.id)) for run in runs if run.log_path}
            deadline = time.monotonic() + self._wait_s
            ends = {run_id: self._end(run_id, is_new, deadline) for run_id, is_new in log_starts.items()}
            self._forget(len(log_starts))
            return ends

    def _start(self, run: Run, since: int | None) -> bool:
        """Start a read unless the last one still hangs; return whether it was started."""
        log_read = self._reads.pop(run.id, None)
        if log_read is None:
            log_read = _LogRead(self._view(run), self._limit)
            log_read.is_done.set()
        self._reads[run.id] = log_read  # reinserted as the most recent
        if not log_read.is_done.is_set():
            return False
        log_read.is_done.clear()
        log_read.since = since
        threading.Thread(target=log_read.work, name=f"log-of-{run.id}", daemon=True).start()
        return True

    def _end(self, run_id: str, is_new: bool, deadline: float) -> LogEnd:
        """Return what was read; nothing from a read started by an earlier call, which may be of another place."""
        log_read = self._reads[run_id]
        is_read = is_new and log_read.is_done.wait(max(deadline - time.monotonic(), 0.0))
        return log_read.end if is_read else LogEnd([], HANGS)

    def _forget(self, read_count: int) -> None:
        """Drop the oldest beyond MOST_KEPT, but never one that hangs: its log would get a second thread."""
        finished_ids = [run_id for run_id, log_read in self._reads.items() if log_read.is_done.is_set()]
        for run_id in finished_ids[: max(len(self._reads) - max(MOST_KEPT, read_count), 0)]:
            del self._reads[run_id]
