"""Records the state changes and events of the supervisor's runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from domain import JsonValue, Run, RunState
from redaction import mask_json, mask_text
from samples import Batch, Event

LOG = logging.getLogger(__name__)
PATIENCE_S = 2.0  # for one save of a store that is well
DURABLE_PATIENCE_S = 4.0  # for what must be stored before a server may start: a busy machine is no full disk
STUCK_PATIENCE_S = 0.1  # for those that come soon after one that was not taken in time
STUCK_FOR_S = 10.0


class RunStore(Protocol):
    """What the supervisor needs of the store.

    `save_run` returns when the run is durable; TimeoutError: not yet, it stays queued in its order.
    """

    def save_run(self, run: Run, timeout_s: float) -> Any: ...

    def run(self, run_id: str) -> Run | None: ...

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> Iterable[Run]:
        """Runs, the newest first; all of them unless states or a limit are given."""
        ...

    def names_like(self, name: str) -> Collection[str]:
        """The names of runs that are this one or numbered on from it: 'name (2)'."""
        ...

    def runs_of_batch(self, batch_id: str) -> Sequence[Run]:
        """The runs that were launched together, in the order of their making."""
        ...


MASKED = ("phase", "cause", "cause_line", "note")  # of a run, in words that may be the server's


@dataclass(slots=True)
class RunRecorder:
    """The store, the sink of events and the clock, used together.

    Saves are made under the supervisor's lock, so a store that takes nothing may hold up only the first of them.
    """

    store: RunStore
    events: Callable[[Batch], Any]
    clock: Callable[[], datetime]
    _stuck_until_s: float = 0.0
    _refuses_until_s: float = 0.0

    def save(self, run: Run, text: str, **data: JsonValue) -> Run:
        """Save a run and say what happened to it."""
        run = self.keep(run)
        self.note(run.id, "state", text, state=run.state.value, **data)
        return run

    def keep(self, run: Run) -> Run:
        """Save a run of which there is nothing to report; a full disk does not hold up who stops a server."""
        masked = {name: mask_text(said) for name in MASKED if (said := getattr(run, name))}
        run = run.model_copy(update=masked)
        try:
            self.store.save_run(run, STUCK_PATIENCE_S if time.monotonic() < self._stuck_until_s else PATIENCE_S)
            self._stuck_until_s = 0.0
        except TimeoutError:
            self._stuck_until_s = time.monotonic() + STUCK_FOR_S
        return run

    def save_durably(self, run: Run) -> None:
        """Raises TimeoutError when the store does not take it now; it stays queued there."""
        is_refusing = time.monotonic() < self._refuses_until_s
        try:
            self.store.save_run(run, STUCK_PATIENCE_S if is_refusing else DURABLE_PATIENCE_S)
        except TimeoutError:
            self._refuses_until_s = time.monotonic() + STUCK_FOR_S
            raise
        self._refuses_until_s = 0.0

    def note(self, run_id: str, kind: str, text: str, **data: JsonValue) -> None:
        """Send one event on its way."""
        event = Event(run_id, self.clock(), kind, mask_text(text), data=mask_json(data))
        self.events(Batch(samples=(event,)))

    def note_fault(self, run_id: str, error: Exception) -> None:
        """What went wrong within Pitwall itself: its trace in our log, one sentence with the run."""
        LOG.error("run %s", run_id, exc_info=error)
        self.note(run_id, "warning", f"Pitwall itself went wrong here: {type(error).__name__}: {error}")
