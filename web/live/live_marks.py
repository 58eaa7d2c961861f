"""Data of watched runs that changes rarely and is therefore queried rarely, such as the marks on their charts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Generic, TypeVar

from storage.queries import live_queries
from storage.queries.run_data import Queryable
from web.live.protocol import LiveMark

ASKED_EVERY_S = 5.0
MOST_RUNS = 256  # remembered; beyond it all are asked for again
T = TypeVar("T")


class RareUpdates(Generic[T]):
    """Cached values by run, at most ASKED_EVERY_S old; used by one thread at a time, like its reader."""

    def __init__(
        self, ask: Callable[[Queryable, Sequence[str]], Mapping[str, T]], clock: Callable[[], float] = monotonic
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._cache: dict[str, tuple[float, T]] = {}

    def get(self, store: Queryable, run_ids: Sequence[str]) -> dict[str, T]:
        """Return the values by run id, querying those that are missing or stale."""
        now = self._clock()
        stale = [
            run_id for run_id in run_ids if run_id not in self._cache or self._cache[run_id][0] + ASKED_EVERY_S <= now
        ]
        if len(self._cache) + len(stale) > MOST_RUNS:
            self._cache, stale = {}, list(run_ids)
        if stale:
            values = self._ask(store, stale)
            self._cache |= {run_id: (now, values[run_id]) for run_id in stale}
        return {run_id: self._cache[run_id][1] for run_id in run_ids}


class LiveMarks(RareUpdates[list[LiveMark]]):
    """Loads, phases and troubles of each run, oldest first."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(_marks, clock)


def _marks(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[LiveMark]]:
    rows = live_queries.marks(store, run_ids)
    return {run_id: [mark_of(row) for row in rows[run_id]] for run_id in run_ids}


def mark_of(row: Mapping[str, Any]) -> LiveMark:
    """Return the mark in the form of web.live.protocol."""
    return LiveMark(t=row["t"], kind=row["kind"], text=row["text"])
