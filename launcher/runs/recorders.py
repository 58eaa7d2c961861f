"""Request recorders of live runs, opened and closed from a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from launcher.checks.launch_request import LaunchRefusedError
from launcher.client_processes import close_recorder
from launcher.processes.stopping import StopReport
from launcher.runs.live_runs import LiveRunRegistry
from launcher.runs.supervised_runs.run_loads import describe_error
from launcher.runs.supervised_runs.run_recorders import NO_SERVER, PrepareRecorder


@dataclass(frozen=True, slots=True)
class RequestRecorders:
    """Opens and closes recorders in front of live servers; methods may be called from any thread."""

    _live: LiveRunRegistry
    _changing: Callable[[], AbstractContextManager[None]]

    def open(self, run_id: str, prepare: PrepareRecorder, secrets: Mapping[str, str]) -> Path:
        """Open a recorder and return its directory; raises LaunchRefusedError.

        secrets: go into its environment and are never stored.
        """
        with self._changing():
            supervised = self._live.get(run_id)
            if supervised is None:
                raise LaunchRefusedError(NO_SERVER)
            try:
                return supervised.open_recorder(prepare, secrets)
            except OSError as error:
                raise LaunchRefusedError(f"The recorder could not be started: {describe_error(error)}") from error

    def close(self, run_id: str) -> StopReport:
        """End the newest recorder of a live run; blocks until it has ended."""
        supervised = self._live.get(run_id)
        return close_recorder(supervised.loads.directory) if supervised else StopReport()
