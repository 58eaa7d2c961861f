"""The progress of a start: the image layers being pulled, the state of progress bars, and when to give up."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engines import BY_NAME
from engines.base import Mark
from machine.regular_file import NotRegularError, opened

if TYPE_CHECKING:  # asking over HTTP is imported by those who ask: not by the far side of a launch by ssh
    from launcher.checks.readiness import ReadinessPoll

PULLING = "pulling the image"
PULL_LIMIT_S = 3600.0  # a layer of tens of GB takes its time, and podman says nothing meanwhile
HEAD_BYTES = 65536  # a pull stands at the very start of the log
BAR_BYTES = 4096
CLOCK_SLACK = timedelta(seconds=5)  # between two words for one moment; more is a clock that was set
_PULL_LINE = re.compile(
    r"(?:Trying to pull .+|Getting image source signatures|Copying (?:blob|config) .+"  # podman
    r"|Unable to find image .+ locally|\S+: Pulling from .+|[0-9a-f]{12}: .+|Digest: sha256:.+)$"  # docker
)
_LAYER = re.compile(r"(?P<layer>[0-9a-f]{12}): (?P<is_there>Pull complete|Already exists)?")


def read_pull(log: Path) -> str | None:
    """'pulling the image, 3 of 7 layers' as long as the newest line of the log is one of a pull; docker alone counts.

    The lines are those that `podman run` and `docker run` write where no terminal is.
    """
    lines = _piece(log, lambda size: (0, HEAD_BYTES)).decode(errors="replace").splitlines()
    newest = next((line for line in reversed(lines) if line.strip()), "")
    return PULLING + _count_layers(lines) if _PULL_LINE.match(newest) else None


def _count_layers(lines: Iterable[str]) -> str:
    found = [match for match in map(_LAYER.match, lines) if match]
    there = {match["layer"] for match in found if match["is_there"]}
    return f", {len(there)} of {len({match['layer'] for match in found})} layers" if found else ""


def read_bar(log: Path, engine: str) -> str | None:
    """'loading weights 34 %' of a progress bar that is being drawn: redrawn in place, its line has no end yet."""
    known = BY_NAME.get(engine)
    if known is None or known.log is None:
        return None
    end = _piece(log, lambda size: (max(0, size - BAR_BYTES), BAR_BYTES))
    _, is_redrawn, drawing = end.rpartition(b"\n")[2].rpartition(b"\r")
    events = known.log.log_parser().feed(drawing + b"\n") if is_redrawn else []
    return next((event.text for event in events if isinstance(event, Mark) and event.kind == "phase"), None)


def _piece(log: Path, place: Callable[[int], tuple[int, int]]) -> bytes:
    """The bytes from where on, and how many, as `place` says of its size; none of what is no file."""
    try:
        with opened(log) as file:
            start, count = place(os.fstat(file.fileno()).st_size)
            file.seek(start)
            return file.read(count)
    except (FileNotFoundError, NotADirectoryError, NotRegularError):
        return b""


def is_pulling(phase: str | None) -> bool:
    """Whether this phase of a start is one that `read_pull` reads: the image has not come whole yet."""
    return phase is not None and phase.startswith(PULLING)


def by_the_clock_of(later: datetime, earlier: datetime, passed_s: float) -> datetime:
    """The earlier moment as the clock of the later one would have shown it: it may have been set in between."""
    step = later - earlier - timedelta(seconds=passed_s)
    return earlier if abs(step) < CLOCK_SLACK else earlier + step


@dataclass
class Start:
    """One start in progress; after a restart of Pitwall its time-out begins again."""

    poll: ReadinessPoll
    limit_s: float  # without progress
    _reached: set[str | None] = field(default_factory=set)
    _progress_at_s: float | None = None

    def give_up(self, phase: str | None, mono_s: float) -> str | None:
        """Why waiting ends, in one sentence; None while the server may still become ready. Times are monotonic seconds.

        A phase counts as progress once: a server that starts over and over says the same ones again.
        """
        if phase not in self._reached or self._progress_at_s is None:
            self._reached.add(phase)
            self._progress_at_s = mono_s
        limit_s = max(self.limit_s, PULL_LIMIT_S) if is_pulling(phase) else self.limit_s
        if mono_s - self._progress_at_s <= limit_s:
            return None
        words = f" while {phase}" if phase else ""
        return (
            f"The server was not ready: no progress for {limit_s:g} s{words}; its last answer: {self.poll.last_answer}."
        )
