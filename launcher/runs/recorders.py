"""What a page asks of recorders: to open one for a run, and to close it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from launcher.checks.preflight import LaunchRefusedError
from launcher.processes.stopping import StopReport
from launcher.runs.live_runs import LiveRuns
from launcher.runs.supervised_runs.run_loads import words_of
from launcher.runs.supervised_runs.run_recorders import NO_SERVER, Prepare, close_recorder


@dataclass(frozen=True, slots=True)
class Recorders:
    """The recorders of live runs; methods may be called from any thread."""

    _live: LiveRuns
    _changing: Callable[[], AbstractContextManager[None]]

    def open(self, run_id: str, prepare: Prepare, secrets: Mapping[str, str]) -> Path:
        """Its directory. `secrets` are given to it in its environment and stored nowhere; raises LaunchRefusedError."""
        with self._changing():
            supervised = self._live.get(run_id)
            if supervised is None:
                raise LaunchRefusedError(NO_SERVER)
            try:
                return supervised.open_recorder(prepare, secrets)
            except OSError as error:
                raise LaunchRefusedError(f"The recorder could not be started: {words_of(error)}") from error

    def close(self, run_id: str) -> StopReport:
        """End the newest one of a run that lives; blocks until it is over, and nobody else."""
        supervised = self._live.get(run_id)
        return close_recorder(supervised.loads.directory) if supervised else StopReport()
