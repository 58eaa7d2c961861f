"""Pieces of the watched runs' logs, mostly their ends, none of which can hold up another.

A file on a disk or a server that hangs is not readable, and no open() or read() of it ever returns. So each log is read
in a thread of its own, which the process does not wait for at its end; who does not come back in time is left out.
One that hangs keeps its thread, and no other is begun for its log: so there is no bound that others would meet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from collectors.logs.log_view import LogTailView, Place, ViewLine
from domain import Run

WAIT_S = 1.0  # for all of one turn
LOG_LINES = 200
MOST_KEPT = 200  # logs that are read on from where they were left; those that were not asked for longest are forgotten
HANGS = "its log does not answer: what it lies on may hang"


class LogEnd(NamedTuple):
    """Lines of one log, the newest last, and where they stand in it; or why there are none."""

    lines: list[ViewLine]
    why: str | None = None
    place: Place | None = None


class View(Protocol):
    """What reads one log, as collectors.logs.log_view.LogTailView does."""

    why: str | None
    place: Place | None

    def lines(self, limit: int, since: int | None) -> list[ViewLine]:
        """At most `limit` lines, the last ones or those from byte `since` on; none of them where `why` is set."""
        ...


def view_of(run: Run) -> View:
    """The end of a run's log, read with its engine's grammar; nothing is opened before it is asked for lines."""
    return LogTailView(Path(run.log_path or ""), run.config.engine)


@dataclass
class _Reading:
    """One log and the look at it that is, or was last, under way."""

    view: View
    limit: int
    since: int | None = None
    is_done: threading.Event = field(default_factory=threading.Event)
    end: LogEnd = field(default_factory=lambda: LogEnd([]))

    def work(self) -> None:
        try:
            self.end = LogEnd(self.view.lines(self.limit, self.since), self.view.why, self.view.place)
        finally:
            self.is_done.set()


class LogReads:
    """Asked for several logs at a time; by one thread at a time."""

    def __init__(self, view: Callable[[Run], View] = view_of, limit: int = LOG_LINES, wait_s: float = WAIT_S) -> None:
        """`limit` is of the lines of one log."""
        self._view = view
        self._limit = limit
        self._wait_s = wait_s
        self._readings: dict[str, _Reading] = {}
        self._lock = threading.Lock()

    def ends(self, runs: Iterable[Run], since: Mapping[str, int | None] | None = None) -> dict[str, LogEnd]:
        """By run id; a run without a log has no lines. `since`: a byte from which lines are read, not the last ones."""
        with self._lock:
            begun = {run.id: self._begin(run, (since or {}).get(run.id)) for run in runs if run.log_path}
            deadline = time.monotonic() + self._wait_s
            ends = {run_id: self._end(run_id, is_new, deadline) for run_id, is_new in begun.items()}
            self._forget(len(begun))
            return ends

    def _begin(self, run: Run, since: int | None) -> bool:
        """Start to read, unless the last reading hangs; whether it was started."""
        reading = self._readings.pop(run.id, None)
        if reading is None:
            reading = _Reading(self._view(run), self._limit)
            reading.is_done.set()
        self._readings[run.id] = reading  # the last of them
        if not reading.is_done.is_set():
            return False
        reading.is_done.clear()
        reading.since = since
        threading.Thread(target=reading.work, name=f"log-of-{run.id}", daemon=True).start()
        return True

    def _end(self, run_id: str, is_new: bool, deadline: float) -> LogEnd:
        """What was read; of a reading that was not begun for this one, which may be of another place, nothing."""
        reading = self._readings[run_id]
        is_read = is_new and reading.is_done.wait(max(deadline - time.monotonic(), 0.0))
        return reading.end if is_read else LogEnd([], HANGS)

    def _forget(self, asked: int) -> None:
        """The oldest beyond the most that are kept; never one that hangs, whose log would get another thread."""
        done = [run_id for run_id, reading in self._readings.items() if reading.is_done.is_set()]
        for run_id in done[: max(len(self._readings) - max(MOST_KEPT, asked), 0)]:
            del self._readings[run_id]
