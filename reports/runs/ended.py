"""What is known of runs that have ended: computed once, and again when more of one has been stored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Generic, TypeVar

from domain import Run
from reports.runs.run_report import RunReport, report_on
from storage.ask.queries import Asked

Known = TypeVar("Known")
Stage = tuple[str, datetime | None, datetime | None]
MOST_WINDOWS = 100_000  # of the reports that are kept: about 50 MB


class OfEnded(Generic[Known]):
    """Keeps what `make` says of the last runs that were asked for; safe from any thread. Tell it what is `committed`.

    most: how much is kept, by what `weigh` says of each.
    """

    def __init__(
        self,
        make: Callable[[Asked, Sequence[Run]], Mapping[str, Known]],
        most: int,
        weigh: Callable[[Known], int] = lambda known: 1,
    ) -> None:
        self._make, self._most, self._weigh = make, most, weigh
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Stage, Known]] = OrderedDict()
        self._under_way: list[set[str]] = []  # what has changed since each computation began

    def committed(self, run_ids: Iterable[str]) -> None:
        """More of these runs has been stored."""
        with self._lock:
            for changed in self._under_way:
                changed.update(run_ids)
            for run_id in run_ids:
                self._kept.pop(run_id, None)

    def of(self, store: Asked, runs: Sequence[Run]) -> dict[str, Known]:
        """Of each of these runs, which have ended, by its id."""
        changed = set[str]()
        with self._lock:
            found = {run.id: self._kept[run.id][1] for run in runs if self._has(run)}
            self._under_way.append(changed)
        try:
            missing = [run for run in runs if run.id not in found]
            made = self._make(store, missing) if missing else {}
            self._keep(missing, made, changed)
        finally:
            with self._lock:
                self._under_way = [one for one in self._under_way if one is not changed]
        return {**found, **made}

    def _keep(self, runs: Sequence[Run], made: Mapping[str, Known], changed: Container[str]) -> None:
        """All but those of which more came meanwhile; then the longest unasked go until the rest is little enough."""
        with self._lock:
            self._kept |= {run.id: (_stage(run), made[run.id]) for run in runs if run.id not in changed}
            weight = sum(self._weigh(known) for _, known in self._kept.values())
            while weight > self._most:
                _, (_, gone) = self._kept.popitem(last=False)
                weight -= self._weigh(gone)

    def _has(self, run: Run) -> bool:
        if run.id not in self._kept or self._kept[run.id][0] != _stage(run):
            return False
        self._kept.move_to_end(run.id)
        return True


class EndedReports(OfEnded[RunReport]):
    """The report of each run, which is called in it as it is now."""

    def __init__(self) -> None:
        super().__init__(
            lambda store, runs: {one.run.id: one for one in report_on(store, runs)},
            MOST_WINDOWS,
            lambda report: 1 + len(report.windows),
        )

    def of(self, store: Asked, runs: Sequence[Run]) -> dict[str, RunReport]:
        found = super().of(store, runs)
        return {run.id: replace(found[run.id], run=run) for run in runs}


def _stage(run: Run) -> Stage:
    """What of a run's own row the computed depends on."""
    return run.state, run.ready_at, run.ended_at
