"""Precomputes what is known of ended runs, a few at a time: their lines in the list of runs, and what pages draw."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from domain import NOT_OVER, Run, utc_now
from reports.formulas import formulas
from reports.runs.ended import EndedReports
from reports.runs.run_line import NOT_COMPUTED, SETTLED_AFTER, compute_each
from storage.ask.run_queries import runs_without_line
from storage.published_query import ASKING_FAILURES
from storage.store import Store

EVERY_S = 10.0
AT_A_TIME = 8
AGAIN_AFTER_S = 600.0  # where it could not be computed
DUTY = 0.05  # of the time at most, for servers may be measured on these cores
DUTY_ALONE = 0.25  # while no run goes on: after an update all that is kept is computed anew
STOP_TIMEOUT_S = 2.0
Prepare = Callable[[Store, Sequence[Run]], object]
log = logging.getLogger(__name__)


class RunLineKeeper:
    """A thread that keeps a line of each run that has ended, the newest first; `keep_next` may be called directly."""

    def __init__(self, store: Store, reports: EndedReports | None = None, prepare: Sequence[Prepare] = ()) -> None:
        """reports: where they are kept; prepare: what else is computed of these runs before anybody asks."""
        self._store = store
        self._reports = reports or EndedReports()
        self._prepare = prepare
        self._failed: dict[str, float] = {}  # run whose line could not be computed -> when, monotonic
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="run-lines", daemon=True)

    def start(self) -> None:
        """Begin to keep lines in a thread; the first come after EVERY_S, ten seconds."""
        self._thread.start()

    def close(self, timeout_s: float = STOP_TIMEOUT_S) -> None:
        """End the thread after the lines under way; what takes longer than the time-out is computed again later."""
        self._closing.set()
        self._thread.join(timeout_s)

    def keep_next(self) -> int:
        """Compute and keep the lines of some runs that have none; how many. Raises duckdb.Error or StoreError."""
        asked_s = time.monotonic()
        self._failed = {run_id: when_s for run_id, when_s in self._failed.items() if asked_s - when_s < AGAIN_AFTER_S}
        most = AT_A_TIME + len(self._failed)
        found = runs_without_line(self._store, formulas(), utc_now() - SETTLED_AFTER, most)
        runs = [run for run in found if run.id not in self._failed]
        lines = compute_each(self._store, runs, lambda ended: self._reports.prepare(self._store, ended).values())
        self._failed |= dict.fromkeys((run_id for run_id, line in lines.items() if line is NOT_COMPUTED), asked_s)
        self._store.keep_run_lines([(run, lines[run.id]) for run in runs], formulas(), asked_s)
        self._prepare_all([run for run in runs if run.id not in self._failed])
        return len(runs)

    def _prepare_all(self, runs: Sequence[Run]) -> None:
        """What fails here is computed when it is asked for, and fails there, with its reason."""
        for prepare in self._prepare:
            try:
                prepare(self._store, runs)
            except ASKING_FAILURES as error:
                log.warning("What is drawn of ended runs could not be prepared: %s", str(error).splitlines()[0])

    def _run(self) -> None:
        pause_s = EVERY_S
        while not self._closing.wait(pause_s):
            began_s = time.monotonic()
            try:
                made = self.keep_next()
                pause_s = self._pause_s(time.monotonic() - began_s) if made else EVERY_S
            except ASKING_FAILURES as error:
                log.warning("What the list of runs says could not be computed: %s", str(error).splitlines()[0])
                pause_s = EVERY_S

    def _pause_s(self, took_s: float) -> float:
        if self._store.runs(NOT_OVER, limit=1):
            return max(1.0, took_s / DUTY)
        return took_s / DUTY_ALONE - took_s
