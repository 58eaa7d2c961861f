"""What is known of runs that have ended: computed once, and again when more of one has been stored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime
from typing import Generic, TypeVar

from domain import Run
from reports.runs.evidence import Evidence, evidence_of
from reports.runs.packed import EVIDENCE, REPORTS
from reports.runs.run_report import RunReport, report_on
from reports.runs.shelf import Files, Shelf
from storage.ask.queries import Asked

Known = TypeVar("Known")
AboutRun = TypeVar("AboutRun", bound=RunReport | Evidence)
Make = Callable[[Asked, Sequence[Run]], Mapping[str, Known]]
Stage = tuple[str, datetime | None, datetime | None]
MOST_WINDOWS = 100_000  # of the reports that are kept: about 50 MB
MOST_EVIDENCE = 1_000  # runs


class OfEnded(Generic[Known]):
    """Keeps what `make` says of the last runs that were asked for; safe from any thread. Give it what is `committed`.

    Of a run that several ask for at once it is computed once, and the others wait: `make` must not ask for more of it.
    most: how much is kept in memory, by what `weigh` says of each; what has gone from there is still on the shelf.
    """

    def __init__(
        self,
        make: Make[Known],
        most: int,
        weigh: Callable[[Known], int] = lambda known: 1,
        shelf: Shelf[Known] | None = None,
    ) -> None:
        self._make, self._most, self._weigh, self._shelf = make, most, weigh, shelf
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Stage, Known]] = OrderedDict()
        self._under_way: list[set[str]] = []  # what has changed since each computation began
        self._computing: dict[tuple[str, Stage], Future[Known]] = {}

    def committed(self, run_ids: Iterable[str]) -> None:
        """More of these runs has been stored."""
        changed_ids = set(run_ids)
        with self._lock:
            for changed in self._under_way:
                changed.update(changed_ids)
            for run_id in changed_ids:
                self._kept.pop(run_id, None)
            for key in [key for key in self._computing if key[0] in changed_ids]:
                del self._computing[key]  # who asks from now on gets what has come, too

    def of(self, store: Asked, runs: Sequence[Run]) -> dict[str, Known]:
        """What is known of each of these ended runs, by its id."""
        changed = set[str]()
        with self._lock:
            found = {run.id: self._kept[run.id][1] for run in runs if self._has(run)}
            self._under_way.append(changed)
        try:
            missing = [run for run in runs if run.id not in found]
            made = self._found_or_made(store, missing, self._make) if missing else {}
            self._keep(missing, made, changed)
        finally:
            with self._lock:
                self._under_way = [one for one in self._under_way if one is not changed]
        return {**found, **made}

    def prepare(self, store: Asked, runs: Sequence[Run], make: Make[Known] | None = None) -> Mapping[str, Known]:
        """What is known of these runs, which have ended, on the disk before anybody asks; memory stays as it is.

        make: computes the same of those of which nothing is kept, and something beside it.
        """
        return self._found_or_made(store, runs, make or self._make)

    def _found_or_made(self, store: Asked, runs: Sequence[Run], make: Make[Known]) -> Mapping[str, Known]:
        """Computed here, or by whoever computes it already, who is waited for; with the error that was met there."""
        mine, others = self._claimed(runs)
        try:
            made = self._from_disk_or_made(store, [run for run in runs if run.id in mine], make) if mine else {}
            for run_id, claim in mine.items():
                claim.set_result(made[run_id])
        except BaseException as error:
            for claim in mine.values():
                claim.set_exception(error)
            raise
        finally:
            with self._lock:
                self._computing = {key: one for key, one in self._computing.items() if one is not mine.get(key[0])}
        return {**made, **{run_id: other.result() for run_id, other in others.items()}}

    def _claimed(self, runs: Sequence[Run]) -> tuple[dict[str, Future[Known]], dict[str, Future[Known]]]:
        """What is to be computed by the caller, and what somebody else computes, by run."""
        mine, others = dict[str, Future[Known]](), dict[str, Future[Known]]()
        with self._lock:
            for run in runs:
                key = run.id, _stage(run)
                if key in self._computing:
                    others[run.id] = self._computing[key]
                else:
                    mine[run.id] = self._computing[key] = Future()
        return mine, others

    def _from_disk_or_made(self, store: Asked, runs: Sequence[Run], make: Make[Known]) -> Mapping[str, Known]:
        """As it lies on the disk, else computed now and put there."""
        if self._shelf is None:
            return make(store, runs)
        bases = self._shelf.bases(store, runs)
        kept = {run.id: self._shelf.get(run, bases[run.id]) for run in runs}
        found = {run_id: known for run_id, known in kept.items() if known is not None}
        missing = [run for run in runs if run.id not in found]
        made = make(store, missing) if missing else {}
        for run in missing:
            self._shelf.put(run, bases[run.id], made[run.id])
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


class OfRuns(OfEnded[AboutRun]):
    """What is known of a run and names it, as it is called now."""

    def of(self, store: Asked, runs: Sequence[Run]) -> dict[str, AboutRun]:
        """What is known of each run, by its id, with the run as it is given: it may have been renamed since."""
        found = super().of(store, runs)
        return {run.id: replace(found[run.id], run=run) for run in runs}


class EndedReports(OfRuns[RunReport]):
    """The report of each run."""

    def __init__(self, files: Files | None = None) -> None:
        super().__init__(
            lambda store, runs: {one.run.id: one for one in report_on(store, runs)},
            MOST_WINDOWS,
            lambda report: 1 + len(report.windows),
            Shelf(files, REPORTS) if files else None,
        )


class EndedEvidence(OfRuns[Evidence]):
    """The evidence of each run."""

    def __init__(self, files: Files | None = None) -> None:
        super().__init__(
            lambda store, runs: {one.run.id: one for one in evidence_of(store, runs)},
            MOST_EVIDENCE,
            shelf=Shelf(files, EVIDENCE) if files else None,
        )


def _stage(run: Run) -> Stage:
    """What of a run's own row the computed depends on."""
    return run.state, run.ready_at, run.ended_at
