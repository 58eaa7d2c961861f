"""The loads of a launched run: the one it was launched with, later ones, and what their ends make of the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from domain import WATCH, RunState, WorkloadSpec
from errors import PitwallError
from launcher.processes.process import ProcessStatus
from launcher.runs.supervised_runs.run_loads import LOAD_RUNS, NO_SHIM, words_of
from launcher.runs.supervised_runs.supervised_run import SupervisedRun


@dataclass
class LaunchedLoads(SupervisedRun, ABC):
    """What of a launched run is about its loads, once its server answers."""

    secrets: Mapping[str, str] = field(default_factory=dict)

    @abstractmethod
    def end(self, cause: str | None = None, note: str | None = None, cause_line: str | None = None) -> None:
        """Begin to stop everything that the run started; with a cause it is a failure."""

    def _step_workload(self) -> None:
        status = self.loads.look()
        if status.state == "absent":
            return self._begin_workload()
        if status.state == "ended":
            is_due = self.run.state is RunState.RUNNING or (self._is_launched_with and self.run.stop_when_done)
            return self._workload_ended(status) if is_due else None
        if self.run.state is RunState.READY:
            self._change(LOAD_RUNS, state=RunState.RUNNING)
        return None

    @property
    def has_workload(self) -> bool:
        return self.run.workload is not None and self.run.workload.name != WATCH.name

    @property
    def _launched_with(self) -> tuple[WorkloadSpec, ...]:
        return self.run.workloads if self.has_workload else ()

    @property
    def _is_launched_with(self) -> bool:
        """Whether the newest load is one of those that the run was launched with."""
        return self.loads.place < len(self._launched_with)

    def _begin_workload(self) -> None:
        """The load that the run was launched with, or what is to be said of one that left no trace."""
        if not self.loads.could_not_start():
            return self._start_workload(self.loads.place) if self._is_launched_with else None
        if self._is_launched_with:
            return self.end(NO_SHIM)
        return self._change(NO_SHIM, state=RunState.READY) if self.run.state is RunState.RUNNING else None

    def _start_workload(self, place: int) -> None:
        """The one at this place of those that the run was launched with."""
        try:
            self.loads.begin(self.run, self._launched_with[place], self.secrets)
        except (OSError, PitwallError) as error:
            return self.end(f"The workload could not be started: {words_of(error)}")
        return self._change(LOAD_RUNS, state=RunState.RUNNING)

    def start_load(self, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
        """Put a further load on the server; raises LaunchRefusedError."""
        super().start_load(spec, {**self.secrets, **secrets})

    def _workload_ended(self, status: ProcessStatus) -> None:
        words, is_well = self.loads.note_end(self.run, status)
        place, count = self.loads.place, len(self._launched_with)
        if place + 1 < count:  # one that broke leaves a server that the next one can be put on
            return self._start_workload(place + 1)
        if place < count > 1:
            words, is_well = _of_several(self.loads.ends(count))
        if self._is_launched_with and (is_well is False or self.run.stop_when_done):
            return self.end(words if is_well is False else None, words if is_well is None else None)
        return self._change(
            "workload done" if is_well is not False else words,
            state=RunState.READY,
            note=self.run.note if is_well else words,
        )


def _of_several(ends: Sequence[tuple[str, bool | None]]) -> tuple[str, bool | None]:
    """The first that broke, else the first of which nobody knows how it ended, else the last."""
    for wanted in (False, None):
        if found := [end for end in ends if end[1] is wanted]:
            return found[0]
    return ends[-1]
