"""The interface between the loop and a collector."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Protocol

from domain import Run, utc_now
from errors import PitwallError
from samples import Batch, TailPosition

Sink = Callable[[Batch], Future[None] | None]
Positions = Callable[[str, str], TailPosition | None]  # (run id, path) -> how far the store has it


class CollectorError(PitwallError):
    """A tick that could not be made, in one sentence; the loop reports it when it begins and when it is over."""

    event_kind: ClassVar[str] = "collector"


class UnavailableError(CollectorError):
    """There is nothing of the kind to collect here; looked for again once a minute."""


class OutageError(CollectorError):
    """What answered before does not answer now: a gap in the samples."""

    event_kind: ClassVar[str] = "outage"


class UnreadableError(CollectorError):
    """It answers, with something that is not what was asked for."""


class IncompleteError(CollectorError):
    """What there is was collected, and a part of it is not known here."""


@dataclass(frozen=True)
class Clock:
    """Wall time and CLOCK_MONOTONIC, given so that a test can set them."""

    utc: Callable[[], datetime] = utc_now
    mono_s: Callable[[], float] = time.monotonic
    ahead_s: Callable[[], float] = lambda: 0.0  # of the machine's clock, by which servers stamp their logs


class Collector(Protocol):
    """One source of samples. The loop calls it for one run from one thread at a time, for several runs at once."""

    name: str
    period_s: float

    def collect(self, run: Run) -> Iterable[Batch]:
        """One tick, in as many batches as it takes; raises CollectorError. Any other exception is logged as a bug."""
        ...

    def finish(self, run: Run) -> Iterable[Batch]:
        """The last tick of a run that has ended or is let go: what is left to take in."""
        return ()

    def forget(self, run_id: str) -> None:
        """Let go of what is held for a run; a next tick starts from what the store has."""

    def unread_bytes(self, run_id: str) -> int | None:
        """How far a file of the run is ahead of what was read of it; None where none is followed."""
        return None

    def paths(self, run: Run) -> Sequence[Path]:
        """Files whose coming or going brings the next tick forward."""
        return ()
