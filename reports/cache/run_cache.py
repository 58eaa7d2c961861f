"""Cache of results for ended runs: computed once, and again after more rows of the run are stored."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime
from typing import Generic, TypeVar

from domain import Run
from reports.cache.codecs import EVIDENCE, REPORTS
from reports.cache.disk_cache import DiskCache, Files
from reports.runs.evidence import Evidence, evidence_of
from reports.runs.run_report import RunReport, report_on
from storage.queries.run_data import Queryable

ResultT = TypeVar("ResultT")
RunResultT = TypeVar("RunResultT", bound=RunReport | Evidence)
Compute = Callable[[Queryable, Sequence[Run]], Mapping[str, ResultT]]
Stage = tuple[str, datetime | None, datetime | None]
MOST_WINDOWS = 400_000  # in all cached reports: about 50 MB
MOST_EVIDENCE = 1_000  # runs


class RunCache(Generic[ResultT]):
    """Keeps the results of `compute` for the most recently requested runs. Thread-safe.

    Call `invalidate` after each commit. Concurrent requests for a run share one computation, so `compute` must not
    request from this cache. capacity: total weight kept in memory, by `weigh`; evicted results remain on disk.
    """

    def __init__(
        self,
        compute: Compute[ResultT],
        capacity: int,
        weigh: Callable[[ResultT], int] = lambda result: 1,
        disk: DiskCache[ResultT] | None = None,
    ) -> None:
        self._compute, self._capacity, self._weigh, self._disk = compute, capacity, weigh, disk
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[Stage, ResultT]] = OrderedDict()
        self._pending_changes: list[set[str]] = []  # per running `get`: ids invalidated since it began
        self._computing: dict[tuple[str, Stage], Future[ResultT]] = {}

    def invalidate(self, run_ids: Iterable[str]) -> None:
        """Drop these runs: more of their rows have been stored."""
        changed_ids = set(run_ids)
        with self._lock:
            for changed in self._pending_changes:
                changed.update(changed_ids)
            for run_id in changed_ids:
                self._entries.pop(run_id, None)
            for key in [key for key in self._computing if key[0] in changed_ids]:
                del self._computing[key]  # later requests must include the new rows

    def get(self, store: Queryable, runs: Sequence[Run]) -> dict[str, ResultT]:
        """Return run id -> result for these ended runs."""
        changed = set[str]()
        with self._lock:
            cached = {run.id: self._entries[run.id][1] for run in runs if self._is_cached(run)}
            self._pending_changes.append(changed)
        try:
            missing = [run for run in runs if run.id not in cached]
            results = self._load_or_compute(store, missing, self._compute) if missing else {}
            self._remember(missing, results, changed)
        finally:
            with self._lock:
                self._pending_changes = [pending for pending in self._pending_changes if pending is not changed]
        return {**cached, **results}

    def prepare(
        self, store: Queryable, runs: Sequence[Run], compute: Compute[ResultT] | None = None
    ) -> Mapping[str, ResultT]:
        """Compute missing results of these ended runs onto the disk and return all; memory is not filled.

        compute: replaces the cache's own; it must return the same results and may collect more.
        """
        return self._load_or_compute(store, runs, compute or self._compute)

    def holds(self, runs: Sequence[Run]) -> bool:
        """Return whether the results of all these ended runs are in memory."""
        with self._lock:
            return all(self._is_cached(run) for run in runs)

    @property
    def is_computing(self) -> bool:
        """Whether a result is being read or computed."""
        return bool(self._computing)

    def _load_or_compute(
        self, store: Queryable, runs: Sequence[Run], compute: Compute[ResultT]
    ) -> Mapping[str, ResultT]:
        """Compute the runs that no other thread computes, and wait for the others; errors reach all waiting threads."""
        own_futures, foreign_futures = self._claim(runs)
        try:
            results = (
                self._read_or_compute(store, [run for run in runs if run.id in own_futures], compute)
                if own_futures
                else {}
            )
            for run_id, future in own_futures.items():
                future.set_result(results[run_id])
        except BaseException as error:
            for future in own_futures.values():
                future.set_exception(error)
            raise
        finally:
            with self._lock:
                self._computing = {
                    key: future for key, future in self._computing.items() if future is not own_futures.get(key[0])
                }
        return {**results, **{run_id: foreign.result() for run_id, foreign in foreign_futures.items()}}

    def _claim(self, runs: Sequence[Run]) -> tuple[dict[str, Future[ResultT]], dict[str, Future[ResultT]]]:
        """Return by run id the futures that the caller must fulfil, and those that another thread fulfils."""
        own_futures, foreign_futures = dict[str, Future[ResultT]](), dict[str, Future[ResultT]]()
        with self._lock:
            for run in runs:
                key = run.id, _stage(run)
                if key in self._computing:
                    foreign_futures[run.id] = self._computing[key]
                else:
                    own_futures[run.id] = self._computing[key] = Future()
        return own_futures, foreign_futures

    def _read_or_compute(
        self, store: Queryable, runs: Sequence[Run], compute: Compute[ResultT]
    ) -> Mapping[str, ResultT]:
        """Read results from the disk; compute and store the missing ones."""
        if self._disk is None:
            return compute(store, runs)
        bases = self._disk.read_bases(store, runs)
        stored = {run.id: self._disk.get(run, bases[run.id]) for run in runs}
        results = {run_id: result for run_id, result in stored.items() if result is not None}
        missing = [run for run in runs if run.id not in results]
        computed = compute(store, missing) if missing else {}
        for run in missing:
            self._disk.put(run, bases[run.id], computed[run.id])
        return {**results, **computed}

    def _remember(self, runs: Sequence[Run], results: Mapping[str, ResultT], changed: Container[str]) -> None:
        """Cache the results except those invalidated meanwhile; then evict the least recently used."""
        with self._lock:
            self._entries |= {run.id: (_stage(run), results[run.id]) for run in runs if run.id not in changed}
            weight = sum(self._weigh(result) for _, result in self._entries.values())
            while weight > self._capacity:
                _, (_, evicted) = self._entries.popitem(last=False)
                weight -= self._weigh(evicted)

    def _is_cached(self, run: Run) -> bool:
        if run.id not in self._entries or self._entries[run.id][0] != _stage(run):
            return False
        self._entries.move_to_end(run.id)
        return True


class RunRowCache(RunCache[RunResultT]):
    """Cache of results that contain their run's row, which a cached result takes from the request."""

    def get(self, store: Queryable, runs: Sequence[Run]) -> dict[str, RunResultT]:
        """Return run id -> result with the given run's row, which may have been renamed since."""
        cached = super().get(store, runs)
        return {run.id: replace(cached[run.id], run=run) for run in runs}


class ReportCache(RunRowCache[RunReport]):
    """Cache of run reports."""

    def __init__(self, files: Files | None = None) -> None:
        super().__init__(
            lambda store, runs: {report.run.id: report for report in report_on(store, runs)},
            MOST_WINDOWS,
            lambda report: 1 + len(report.windows),
            DiskCache(files, REPORTS) if files else None,
        )


class EvidenceCache(RunRowCache[Evidence]):
    """Cache of run evidence."""

    def __init__(self, files: Files | None = None) -> None:
        super().__init__(
            lambda store, runs: {evidence.run.id: evidence for evidence in evidence_of(store, runs)},
            MOST_EVIDENCE,
            disk=DiskCache(files, EVIDENCE) if files else None,
        )


def _stage(run: Run) -> Stage:
    """Return the columns of the run's row that results depend on."""
    return run.state, run.ready_at, run.ended_at
