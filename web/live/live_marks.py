"""What of watched runs changes seldom, and is asked for seldom: what is marked on their charts, among it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Generic, TypeVar

from storage.ask import live_queries
from storage.ask.queries import Asked
from web.live.protocol import LiveMark

ASKED_EVERY_S = 5.0
MOST_RUNS = 256  # remembered; beyond it all are asked for again
T = TypeVar("T")


class Seldom(Generic[T]):
    """What is known of each run, at most so old; used by one thread at a time, as its reader is."""

    def __init__(
        self, ask: Callable[[Asked, Sequence[str]], Mapping[str, T]], clock: Callable[[], float] = monotonic
    ) -> None:
        self._ask = ask
        self._clock = clock
        self._known: dict[str, tuple[float, T]] = {}

    def of(self, store: Asked, run_ids: Sequence[str]) -> dict[str, T]:
        """By run id."""
        now = self._clock()
        old = [one for one in run_ids if one not in self._known or self._known[one][0] + ASKED_EVERY_S <= now]
        if len(self._known) + len(old) > MOST_RUNS:
            self._known, old = {}, list(run_ids)
        if old:
            found = self._ask(store, old)
            self._known |= {run_id: (now, found[run_id]) for run_id in old}
        return {run_id: self._known[run_id][1] for run_id in run_ids}


class LiveMarks(Seldom[list[LiveMark]]):
    """Loads, phases and troubles of each run, oldest first."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__(_marks, clock)


def _marks(store: Asked, run_ids: Sequence[str]) -> dict[str, list[LiveMark]]:
    found = live_queries.marks(store, run_ids)
    return {run_id: [mark_of(row) for row in found[run_id]] for run_id in run_ids}


def mark_of(row: Mapping[str, Any]) -> LiveMark:
    """As the protocol has it."""
    return LiveMark(t=row["t"], kind=row["kind"], text=row["text"])
