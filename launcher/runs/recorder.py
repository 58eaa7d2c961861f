"""Records the state changes and events of the supervisor's runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from domain import JsonValue, Run, RunState
from redaction import mask_json, mask_text
from samples import Batch, Event

LOG = logging.getLogger(__name__)
PATIENCE_S = 2.0  # of who changed a run, until it is stored
STUCK_FOR_S = 10.0  # nobody waits again so soon after a store that took nothing in time


class RunStore(Protocol):
    """What the supervisor needs of the store."""

    def queue_runs(self, runs: Sequence[Run]) -> Future[None]:
        """Take the states of runs, all or none, in the order of the calls; the future is done when they are durable."""
        ...

    def run(self, run_id: str) -> Run | None: ...

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> Iterable[Run]:
        """Runs, the newest first; all of them unless states or a limit are given."""
        ...

    def names_like(self, names: Collection[str]) -> Collection[str]:
        """The names of runs that are one of these or numbered on from it: 'name (2)'."""
        ...

    def runs_of_batch(self, batch_id: str) -> Sequence[Run]:
        """The runs that were launched together, in the order of their making."""
        ...


MASKED = ("phase", "cause", "cause_line", "note")  # of a run, in words that may be the server's


@dataclass(slots=True)
class RunRecorder:
    """The store, the sink of events and the clock, used together; `ended` takes each run as it is when it is over.

    Under the supervisor's lock runs are only handed to the store. Who wants to find them there waits with `settle`.
    """

    store: RunStore
    events: Callable[[Batch], Any]
    clock: Callable[[], datetime]
    ended: Callable[[Run], Any] = lambda run: None
    _newest: Future[None] | None = None
    _stuck_until_s: float = 0.0

    def save(self, run: Run, text: str, **data: JsonValue) -> Run:
        """Hand a run over and say what happened to it."""
        return self.save_all([run], text, **data)[0]

    def save_all(self, runs: Iterable[Run], text: str, **data: JsonValue) -> list[Run]:
        """Hand over runs that are stored together, and say what happened to each."""
        runs = [_masked(run) for run in runs]
        if runs:
            self.hand_over(runs)
        for run in runs:
            self.note(run.id, "state", text, state=run.state.value, **data)
            if run.state.is_final:
                self.ended(run)
        return runs

    def keep(self, run: Run) -> Run:
        """Hand over a run of which there is nothing to report."""
        run = _masked(run)
        self.hand_over([run])
        return run

    def hand_over(self, runs: Sequence[Run]) -> Future[None]:
        """Give the store runs; returns at once, with the future that is done when they are durable."""
        stored = self.store.queue_runs(runs)
        stored.add_done_callback(_log_failure)
        self._newest = stored
        return stored

    def settle(self, wait_s: float = PATIENCE_S) -> None:
        """Wait until the store has all that it was given, a moment at most: never under a lock."""
        newest = self._newest
        if newest is None or time.monotonic() < self._stuck_until_s:
            return
        if wait([newest], max(wait_s, 0.0)).not_done:
            self._stuck_until_s = time.monotonic() + STUCK_FOR_S

    def wait_until_stored(self) -> None:
        """Wait for that however long it takes: for who goes by what is stored, on a thread of its own."""
        if self._newest:
            wait([self._newest])

    def note(self, run_id: str, kind: str, text: str, **data: JsonValue) -> None:
        """Send one event on its way."""
        event = Event(run_id, self.clock(), kind, mask_text(text), data=mask_json(data))
        self.events(Batch(samples=(event,)))

    def note_fault(self, run_id: str, error: Exception) -> None:
        """What went wrong within Pitwall itself: its trace in our log, one sentence with the run."""
        LOG.error("run %s", run_id, exc_info=error)
        self.note(run_id, "warning", f"Pitwall itself went wrong here: {type(error).__name__}: {error}")


def _masked(run: Run) -> Run:
    return run.model_copy(update={name: mask_text(said) for name in MASKED if (said := getattr(run, name))})


def _log_failure(stored: Future[None]) -> None:
    if error := stored.exception():
        LOG.error("the state of a run was not stored: %s", error)
