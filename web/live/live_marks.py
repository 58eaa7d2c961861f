"""What is marked on the charts of watched runs: loads, phases, troubles; asked for seldom, for they come seldom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from storage.ask import live_queries
from storage.ask.queries import Asked
from web.live.protocol import LiveMark

ASKED_EVERY_S = 5.0
MOST_RUNS = 256  # remembered; beyond it all are asked for again


class LiveMarks:
    """The marks of each run, at most so old; used by one thread at a time, as its reader is."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, list[LiveMark]]] = {}

    def of(self, store: Asked, run_ids: Sequence[str]) -> dict[str, list[LiveMark]]:
        """By run id, oldest first."""
        now = self._clock()
        old = [one for one in run_ids if one not in self._known or self._known[one][0] + ASKED_EVERY_S <= now]
        if len(self._known) + len(old) > MOST_RUNS:
            self._known, old = {}, list(run_ids)
        if old:
            found = live_queries.marks(store, old)
            self._known |= {run_id: (now, [mark_of(row) for row in found[run_id]]) for run_id in old}
        return {run_id: self._known[run_id][1] for run_id in run_ids}


def mark_of(row: Mapping[str, Any]) -> LiveMark:
    """As the protocol has it."""
    return LiveMark(t=row["t"], kind=row["kind"], text=row["text"])
