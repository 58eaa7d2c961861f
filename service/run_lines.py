"""Precomputes data of ended runs, a few at a time: their lines in the list of runs, and chart data."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from domain import OPEN_STATES, Run, utc_now
from reports.cache.run_cache import ReportCache, RunCache
from reports.runs.run_line import NOT_COMPUTED, SETTLED_AFTER, UNREADABLE_ROWS, compute_each, first_line, line_version
from storage.published_query import QUERY_FAILURES
from storage.queries.run_queries import runs_without_line
from storage.store import Store

INTERVAL_S = 10.0
BUSY_PAUSE_S = 1.0
BATCH_SIZE = 8
RETRY_AFTER_S = 600.0  # after a failure
MAX_CPU_SHARE = 0.05  # because servers may be measured on these cores
MAX_IDLE_CPU_SHARE = 0.25  # while no run is live; an update recomputes everything
STOP_TIMEOUT_S = 2.0
log = logging.getLogger(__name__)


class RunLineKeeper:
    """A thread that computes a line for each ended run, newest first; `keep_next` may be called directly."""

    def __init__(self, store: Store, reports: ReportCache | None = None, caches: Sequence[RunCache[Any]] = ()) -> None:
        """reports: the cache of reports; caches: others to fill for the same runs."""
        self._store = store
        self._reports = reports or ReportCache()
        self._caches = caches
        self._failed: dict[str, float] = {}  # run id -> monotonic time of the failure
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="run-lines", daemon=True)

    def start(self) -> None:
        """Start the thread; the first lines follow after INTERVAL_S."""
        self._thread.start()

    def close(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """End the thread after the current lines; lines that exceed the timeout are computed again later."""
        self._closing.set()
        self._thread.join(timeout_s)

    def keep_next(self) -> int:
        """Compute and cache lines of some runs without one; return their number. Raises duckdb.Error or StoreError."""
        read_s = time.monotonic()
        self._failed = {
            run_id: failed_s for run_id, failed_s in self._failed.items() if read_s - failed_s < RETRY_AFTER_S
        }
        most = BATCH_SIZE + len(self._failed)
        candidates = runs_without_line(self._store, line_version(), utc_now() - SETTLED_AFTER, most)
        runs = [run for run in candidates if run.id not in self._failed]
        lines = compute_each(self._store, runs, lambda ended: self._reports.prepare(self._store, ended).values())
        self._failed |= dict.fromkeys((run_id for run_id, line in lines.items() if line is NOT_COMPUTED), read_s)
        self._store.cache_run_lines([(run, lines[run.id]) for run in runs], line_version(), read_s)
        self._prepare_all([run for run in runs if run.id not in self._failed])
        return len(runs)

    def _prepare_all(self, runs: Sequence[Run]) -> None:
        """Run further computations; a failure is repeated, with its reason, when a page requests the data."""
        for cache in self._caches:
            try:
                cache.prepare(self._store, runs)
            except (*QUERY_FAILURES, *UNREADABLE_ROWS) as error:
                log.warning("The charts of ended runs could not be prepared: %s", first_line(error))

    def _run(self) -> None:
        pause_s = INTERVAL_S
        while not self._closing.wait(pause_s):
            began_s = time.monotonic()
            if any(cache.is_computing for cache in (self._reports, *self._caches)):  # for somebody who waits
                pause_s = BUSY_PAUSE_S
                continue
            try:
                count = self.keep_next()
                pause_s = self._pause_s(time.monotonic() - began_s) if count else INTERVAL_S
            except QUERY_FAILURES as error:
                log.warning("The list of runs could not be computed: %s", str(error).splitlines()[0])
                pause_s = INTERVAL_S

    def _pause_s(self, took_s: float) -> float:
        if self._store.runs(OPEN_STATES, limit=1):
            return max(1.0, took_s / MAX_CPU_SHARE)
        return took_s / MAX_IDLE_CPU_SHARE - took_s
