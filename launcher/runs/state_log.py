"""Log of the state changes and events of supervised runs."""

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
WAIT_S = 2.0  # longest wait of a caller that changed a run, until it is stored
STUCK_S = 10.0  # after a store did not answer in time, callers do not wait for so long


class RunStateStore(Protocol):
    """The store, as far as the supervisor uses it."""

    def queue_runs(self, runs: Sequence[Run]) -> Future[None]:
        """Queue run states, all or none, in the order of the calls; the future is done when they are durable."""
        ...

    def run(self, run_id: str) -> Run | None: ...

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> Iterable[Run]:
        """Return runs, newest first; all of them unless states or a limit are given."""
        ...

    def names_like(self, names: Collection[str]) -> Collection[str]:
        """Return the names of runs that equal one of these or are numbered from it: 'name (2)'."""
        ...

    def runs_of_batch(self, batch_id: str) -> Sequence[Run]:
        """Return the runs that were launched together, in the order of their creation."""
        ...


MASKED_FIELDS = ("phase", "cause", "cause_line", "note")  # fields of a run that may contain the server's text


@dataclass(slots=True)
class StateLog:
    """Writes run states to the store and events to their sink; `ended` is called with each run that ends.

    Under the supervisor's lock, runs are only handed to the store. `wait_briefly` waits until they are stored.
    """

    store: RunStateStore
    events: Callable[[Batch], Any]
    clock: Callable[[], datetime]
    ended: Callable[[Run], Any] = lambda run: None
    _newest: Future[None] | None = None
    _stuck_until_s: float = 0.0

    def save(self, run: Run, text: str, **data: JsonValue) -> Run:
        """Hand a run to the store and record an event about it."""
        return self.save_all([run], text, **data)[0]

    def save_all(self, runs: Iterable[Run], text: str, **data: JsonValue) -> list[Run]:
        """Hand over runs to be stored together, and record an event about each."""
        runs = [_masked(run) for run in runs]
        if runs:
            self.hand_over(runs)
        for run in runs:
            self.note(run.id, "state", text, state=run.state.value, **data)
            if run.state.is_final:
                self.ended(run)
        return runs

    def keep(self, run: Run) -> Run:
        """Hand over a run without an event."""
        run = _masked(run)
        self.hand_over([run])
        return run

    def hand_over(self, runs: Sequence[Run]) -> Future[None]:
        """Hand runs to the store; return immediately, with a future that is done when they are durable."""
        future = self.store.queue_runs(runs)
        future.add_done_callback(_log_failure)
        self._newest = future
        return future

    def wait_briefly(self, wait_s: float = WAIT_S) -> None:
        """Wait until the store has everything, at most `wait_s`; never call it under a lock."""
        future = self._newest
        if future is None or time.monotonic() < self._stuck_until_s:
            return
        if wait([future], max(wait_s, 0.0)).not_done:
            self._stuck_until_s = time.monotonic() + STUCK_S

    def wait_until_stored(self) -> None:
        """Wait without a limit until the store has everything; call it on a thread of its own."""
        if self._newest:
            wait([self._newest])

    def note(self, run_id: str, kind: str, text: str, **data: JsonValue) -> None:
        """Record one event."""
        event = Event(run_id, self.clock(), kind, mask_text(text), data=mask_json(data))
        self.events(Batch(samples=(event,)))

    def note_fault(self, run_id: str, error: Exception) -> None:
        """Report an internal error: its traceback in Pitwall's log, one sentence with the run."""
        LOG.error("run %s", run_id, exc_info=error)
        self.note(run_id, "warning", f"Internal error in Pitwall: {type(error).__name__}: {error}")


def _masked(run: Run) -> Run:
    return run.model_copy(update={name: mask_text(text) for name in MASKED_FIELDS if (text := getattr(run, name))})


def _log_failure(stored: Future[None]) -> None:
    if error := stored.exception():
        LOG.error("the state of a run was not stored: %s", error)
