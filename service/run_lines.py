"""Precomputes the lines of ended runs in the list of runs, a few at a time."""

from __future__ import annotations

import logging
import threading
import time

from domain import utc_now
from reports.formulas import formulas
from reports.runs.run_line import SETTLED_AFTER, compute_lines
from storage.ask.run_queries import runs_without_line
from storage.reading import ASKING_FAILURES
from storage.store import Store

EVERY_S = 10.0
AT_A_TIME = 8
DUTY = 0.05  # of the time at most, for servers may be measured on these cores
STOP_TIMEOUT_S = 2.0
log = logging.getLogger(__name__)


class RunLineKeeper:
    """A thread that keeps a line of each run that has ended, the newest first; `keep_next` may be called directly."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._failed: set[str] = set()  # runs whose line could not be computed: they hold up no other
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="run-lines", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        self._closing.set()
        self._thread.join(timeout_s)

    def keep_next(self) -> int:
        """Compute and keep the lines of some runs that have none; how many. Raises duckdb.Error or StoreError."""
        asked_s, most = time.monotonic(), AT_A_TIME + len(self._failed)
        found = runs_without_line(self._store, formulas(), utc_now() - SETTLED_AFTER, most)
        runs = [run for run in found if run.id not in self._failed]
        try:
            lines = compute_lines(self._store, runs)
        except ASKING_FAILURES:
            self._failed |= {run.id for run in runs}
            raise
        self._store.keep_run_lines([(run, lines[run.id]) for run in runs], formulas(), asked_s)
        return len(runs)

    def _run(self) -> None:
        pause_s = EVERY_S
        while not self._closing.wait(pause_s):
            began_s = time.monotonic()
            try:
                made = self.keep_next()
            except ASKING_FAILURES as error:
                log.warning("What the list of runs says could not be computed: %s", str(error).splitlines()[0])
                made = 0
            pause_s = max(1.0, (time.monotonic() - began_s) / DUTY) if made else EVERY_S
