"""Contains an error to the run in which it happened, so that the other runs go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from launcher.runs.recorder import RunRecorder


@dataclass
class Faults:
    """The runs whose last step raised something that nobody expected; it is reported when it begins."""

    recorder: RunRecorder
    _by_run: dict[str, str] = field(default_factory=dict)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._by_run

    def guard(self, run_id: str, step: Callable[[], object]) -> None:
        """Make one step of a run, whatever comes of it."""
        try:
            step()
        except Exception as error:
            known, self._by_run[run_id] = self._by_run.get(run_id), repr(error)
            if known != repr(error):
                self.recorder.note_fault(run_id, error)
        else:
            self._by_run.pop(run_id, None)
