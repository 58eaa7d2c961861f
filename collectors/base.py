"""Interface between the collection loop and a collector."""

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
Positions = Callable[[str, str], TailPosition | None]  # (run id, path) -> position that the store has committed


class CollectorError(PitwallError):
    """A tick failed; the message is one sentence. The loop reports when the failure begins and when it ends."""

    event_kind: ClassVar[str] = "collector"


class UnavailableError(CollectorError):
    """The source does not exist here; it is tried again once a minute."""


class OutageError(CollectorError):
    """A source that answered before does not answer now: a gap in the samples."""

    event_kind: ClassVar[str] = "outage"


class UnreadableError(CollectorError):
    """The source answers with unexpected content."""


class IncompleteError(CollectorError):
    """The tick was collected, but some of its values cannot be measured here."""


@dataclass(frozen=True)
class Clock:
    """Wall time and CLOCK_MONOTONIC, passed in so that a test can set them."""

    utc: Callable[[], datetime] = utc_now
    mono_s: Callable[[], float] = time.monotonic
    ahead_s: Callable[[], float] = lambda: 0.0  # of `utc` relative to the machine's clock, the one of server logs


class Collector(Protocol):
    """A source of samples. The loop calls it from one thread per run, for several runs at the same time."""

    name: str
    period_s: float

    def collect(self, run: Run) -> Iterable[Batch]:
        """Collect one tick in one or more batches; raises CollectorError. Any other exception is logged as a bug."""
        ...

    def finish(self, run: Run) -> Iterable[Batch]:
        """Collect what remains of a run that has ended or is no longer watched."""
        return ()

    def forget(self, run_id: str) -> None:
        """Drop the state of a run; a later tick starts from what the store has."""

    def unread_bytes(self, run_id: str) -> int | None:
        """Return the unread bytes of the run's file; None if no file is followed."""
        return None

    def paths(self, run: Run) -> Sequence[Path]:
        """Return the files whose creation or deletion triggers the next tick at once."""
        return ()
