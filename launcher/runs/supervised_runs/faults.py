"""Confines an error to the run in which it happened, so that the other runs continue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from launcher.runs.state_log import StateLog


@dataclass
class Faults:
    """Runs whose last step raised an unexpected error; each error is reported once."""

    state_log: StateLog
    _errors: dict[str, str] = field(default_factory=dict)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._errors

    def guard(self, run_id: str, step: Callable[[], object]) -> None:
        """Execute one step of a run, and catch any error."""
        try:
            step()
        except Exception as error:
            previous, self._errors[run_id] = self._errors.get(run_id), repr(error)
            if previous != repr(error):
                self.state_log.note_fault(run_id, error)
        else:
            self._errors.pop(run_id, None)
