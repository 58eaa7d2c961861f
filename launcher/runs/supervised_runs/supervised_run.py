"""What a launched run and an attached one have in common: its record, its loads, work on the side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from commands.secrets import distinctive
from domain import Run, RunState, WorkloadSpec
from launcher.checks.preflight import LaunchRefusedError
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.run_loads import LOAD_RUNS, RunLoads, check_can_load, words_of
from launcher.runs.supervised_runs.run_recorders import Prepare, open_recorder
from redaction import KNOWN

T = TypeVar("T")


@dataclass
class SupervisedRun:
    """One run and what is under way for it."""

    run: Run
    deps: Dependencies
    loads: RunLoads = field(init=False)

    def start_load(self, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
        """Put a load on the server, once more or for the first time; raises LaunchRefusedError."""
        check_can_load(self.run)
        KNOWN.add(distinctive(secrets.values()))  # whatever a tool may say of them
        try:
            self.loads.begin(self.run, spec, secrets)
        except OSError as error:
            raise LaunchRefusedError(f"The workload could not be started: {words_of(error)}") from error
        self._change(LOAD_RUNS, state=RunState.RUNNING, run_dir=str(self.loads.directory))

    def open_recorder(self, prepare: Prepare, secrets: Mapping[str, str]) -> Path:
        """A recorder before the server; its directory. Raises LaunchRefusedError, OSError."""
        directory = self.loads.directory
        own = open_recorder(self.run, directory, prepare, secrets)
        self._change("recorder opened", run_dir=str(directory))
        return own

    def _change(self, text: str, **updates: Any) -> None:
        self.run = self.deps.recorder.save(self.run.model_copy(update=updates), text)

    def _in_pool(self, call: Callable[[], T | None]) -> Future[T | None]:
        return self.deps.pool.submit(lambda: self._attempt(call))

    def _attempt(self, call: Callable[[], T | None]) -> T | None:
        """What it returns; None where it raised, which is reported."""
        try:
            return call()
        except Exception as error:
            self.deps.recorder.note_fault(self.run.id, error)
            return None
