"""Progress of a start: image layers being pulled, progress bars in the log, and the start-up timeout."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engines import BY_NAME
from engines.base import LogMark
from machine.regular_file import NotRegularError, open_regular

if TYPE_CHECKING:  # the remote side of a launch over ssh must not import the HTTP client
    from launcher.processes.readiness import ReadinessPoll

PULLING = "pulling the image"
PULL_LIMIT_S = 3600.0  # a layer of tens of GB is slow, and podman prints nothing meanwhile
HEAD_BYTES = 65536  # a pull is at the very start of the log
BAR_BYTES = 4096
CLOCK_SLACK = timedelta(seconds=5)  # between two records of one moment; more means that the clock was set
_PULL_LINE = re.compile(
    r"(?:Trying to pull .+|Getting image source signatures|Copying (?:blob|config) .+"  # podman
    r"|Unable to find image .+ locally|\S+: Pulling from .+|[0-9a-f]{12}: .+|Digest: sha256:.+)$"  # docker
)
_LAYER = re.compile(r"(?P<layer>[0-9a-f]{12}): (?P<is_there>Pull complete|Already exists)?")


def read_pull(log: Path) -> str | None:
    """Return 'pulling the image, 3 of 7 layers' while the newest log line belongs to a pull; podman has no counts.

    The lines are those that `podman run` and `docker run` write without a terminal.
    """
    lines = _read_piece(log, lambda size: (0, HEAD_BYTES)).decode(errors="replace").splitlines()
    newest = next((line for line in reversed(lines) if line.strip()), "")
    return PULLING + _count_layers(lines) if _PULL_LINE.match(newest) else None


def _count_layers(lines: Iterable[str]) -> str:
    layers = [match for match in map(_LAYER.match, lines) if match]
    present = {match["layer"] for match in layers if match["is_there"]}
    return f", {len(present)} of {len({match['layer'] for match in layers})} layers" if layers else ""


def read_bar(log: Path, engine: str) -> str | None:
    """Return 'loading weights 34 %' from a progress bar that is redrawn in place, whose line has no end yet."""
    engine_info = BY_NAME.get(engine)
    if engine_info is None or engine_info.log is None:
        return None
    end = _read_piece(log, lambda size: (max(0, size - BAR_BYTES), BAR_BYTES))
    _, is_redrawn, drawing = end.rpartition(b"\n")[2].rpartition(b"\r")
    events = engine_info.log.log_parser().feed(drawing + b"\n") if is_redrawn else []
    return next((event.text for event in events if isinstance(event, LogMark) and event.kind == "phase"), None)


def _read_piece(log: Path, choose_range: Callable[[int], tuple[int, int]]) -> bytes:
    """Read a part of the log; `choose_range` maps its size to start and count. Empty if it is not a file."""
    try:
        with open_regular(log) as file:
            start, count = choose_range(os.fstat(file.fileno()).st_size)
            file.seek(start)
            return file.read(count)
    except (FileNotFoundError, NotADirectoryError, NotRegularError):
        return b""


def is_pulling(phase: str | None) -> bool:
    """Whether this phase is one that `read_pull` returns: the image is not complete yet."""
    return phase is not None and phase.startswith(PULLING)


def adjust_clock(later: datetime, earlier: datetime, passed_s: float) -> datetime:
    """Return the earlier time on the clock of the later one, which may have been set in between."""
    step = later - earlier - timedelta(seconds=passed_s)
    return earlier if abs(step) < CLOCK_SLACK else earlier + step


@dataclass
class StartTimeout:
    """Timeout of one start; it begins again after a restart of Pitwall."""

    poll: ReadinessPoll
    limit_s: float  # without progress
    _reached: set[str | None] = field(default_factory=set)
    _progress_at_s: float | None = None

    def explain_timeout(self, phase: str | None, mono_s: float) -> str | None:
        """Return in one sentence why waiting ends; None while the server may still become ready. Monotonic seconds.

        Each phase counts as progress once, because a server that restarts repeatedly reports the same ones again.
        """
        if phase not in self._reached or self._progress_at_s is None:
            self._reached.add(phase)
            self._progress_at_s = mono_s
        limit_s = max(self.limit_s, PULL_LIMIT_S) if is_pulling(phase) else self.limit_s
        if mono_s - self._progress_at_s <= limit_s:
            return None
        activity = f" while {phase}" if phase else ""
        stall = f"no progress for {limit_s:g} s{activity}"
        return f"The server was not ready: {stall}; its last answer: {self.poll.last_answer}."
