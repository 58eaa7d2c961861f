"""Where the supervisor writes down what becomes of its runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from domain import JsonValue, Run
from redaction import mask_text
from samples import Batch, Event

LOG = logging.getLogger(__name__)
PATIENCE_S = 5.0


class RunStore(Protocol):
    """What the supervisor needs of the store.

    `save_run` returns when the run is durable; TimeoutError: not yet, it stays queued in its order.
    """

    def save_run(self, run: Run, timeout_s: float) -> Any: ...

    def run(self, run_id: str) -> Run | None: ...

    def runs(self) -> Iterable[Run]: ...


@dataclass(frozen=True, slots=True)
class RunRecorder:
    """The store, the sink of events and the clock, used together."""

    store: RunStore
    events: Callable[[Batch], Any]
    clock: Callable[[], datetime]

    def save(self, run: Run, text: str, **data: JsonValue) -> Run:
        """Save a run and say what happened to it; a full disk does not hold up who stops a server."""
        with suppress(TimeoutError):
            self.save_durably(run)
        self.tell(run.id, "state", text, state=run.state.value, **data)
        return run

    def save_durably(self, run: Run) -> None:
        """Raises TimeoutError when the store does not take it now."""
        self.store.save_run(run, PATIENCE_S)

    def tell(self, run_id: str, kind: str, text: str, **data: JsonValue) -> None:
        """Send one event on its way."""
        self.events(Batch(samples=(Event(run_id, self.clock(), kind, text, data=data),)))

    def tell_fault(self, run_id: str, error: Exception) -> None:
        """What went wrong within Pitwall itself: its trace in our log, one sentence with the run."""
        LOG.error("run %s", run_id, exc_info=error)
        self.tell(run_id, "warning", mask_text(f"Pitwall itself went wrong here: {type(error).__name__}: {error}"))
