"""The seam between the loop and a collector."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from domain import Batch, Run, TailPosition

Sink = Callable[[Batch], Future[None] | None]
Positions = Callable[[str, str], TailPosition | None]  # (run id, path) -> how far the store has it


class Unavailable(Exception):
    """This run has nothing of the kind to collect; the text says why and, if there is one, what to do."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Clock:
    """Wall time and CLOCK_MONOTONIC, given so that a test can set them."""

    utc: Callable[[], datetime] = _utc_now
    mono_s: Callable[[], float] = time.monotonic


class Collector(Protocol):
    """One source of samples. The loop calls it for one run from one thread at a time, for several runs at once."""

    name: str
    period_s: float

    def collect(self, run: Run) -> Batch:
        """One turn; raises Unavailable where there is nothing to collect, anything else is told and tried again."""
        ...

    def finish(self, run: Run) -> Batch:
        """The last turn of a run that has ended or is let go: what is left to take in, without complaint."""
        return Batch()

    def forget(self, run_id: str) -> None:
        """Let go of what is held for a run; the next turn starts from what the store has."""

    def paths(self, run: Run) -> Sequence[Path]:
        """Files whose change brings the next turn forward."""
        return ()
