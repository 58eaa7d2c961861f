"""Common base of launched and attached runs: their record, their loads, background work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from commands.secrets import distinctive
from domain import Run, RunState, WorkloadSpec
from launcher.checks.launch_request import LaunchRefusedError
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.run_loads import LOAD_RUNS, RunLoads, check_can_load, describe_error
from launcher.runs.supervised_runs.run_recorders import PrepareRecorder, open_recorder
from redaction import KNOWN

T = TypeVar("T")


@dataclass
class SupervisedRun:
    """One run and its pending operations."""

    run: Run
    deps: Dependencies
    loads: RunLoads = field(init=False)

    def start_load(self, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
        """Start a load on the server; raises LaunchRefusedError."""
        check_can_load(self.run)
        KNOWN.add(distinctive(secrets.values()))  # a tool may print them
        try:
            self.loads.begin(self.run, spec, secrets)
        except OSError as error:
            raise LaunchRefusedError(f"The workload could not be started: {describe_error(error)}") from error
        self._change(LOAD_RUNS, state=RunState.RUNNING, run_dir=str(self.loads.directory))

    def open_recorder(self, prepare: PrepareRecorder, secrets: Mapping[str, str]) -> Path:
        """Open a recorder in front of the server; return its directory. Raises LaunchRefusedError, OSError."""
        directory = self.loads.directory
        recorder_directory = open_recorder(self.run, directory, prepare, secrets)
        self._change("recorder opened", run_dir=str(directory))
        return recorder_directory

    def _change(self, text: str, **updates: Any) -> None:
        self.run = self.deps.state_log.save(self.run.model_copy(update=updates), text)

    def _in_pool(self, call: Callable[[], T | None]) -> Future[T | None]:
        return self.deps.pool.submit(lambda: self._attempt(call))

    def _attempt(self, call: Callable[[], T | None]) -> T | None:
        """Return the result of the call; None if it raised, which is reported."""
        try:
            return call()
        except Exception as error:
            self.deps.state_log.note_fault(self.run.id, error)
            return None
