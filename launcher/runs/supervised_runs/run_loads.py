"""Loads of one run, one after another: each is a process under its own shim in the run's directory."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from domain import Run, RunState, WorkloadSpec
from launcher.checks.launch_request import LaunchRefusedError
from launcher.client_processes import newest_load, stop_clients
from launcher.processes.exit_messages import describe_exit, log_tail
from launcher.processes.process import (
    ROOT,
    WORKLOAD,
    ProcessExit,
    ProcessSpec,
    ProcessStatus,
    load_directories,
    process_status,
    start_shim,
    write_spec,
)
from launcher.processes.stopping import StopReport
from launcher.runs.supervised_runs.dependencies import Dependencies
from machine.private_files import private_folder

LOG = "workload.log"
LOAD_RUNS = "workload running"
NO_SHIM = "The process that supervises it could not start: see shim.log in the run directory."
REFUSALS = {
    RunState.QUEUED: "It waits in the queue: a load needs a ready server.",
    RunState.STARTING: "Its server is not ready yet: a load needs a ready server.",
    RunState.RUNNING: "A load is already running on it: the next one can start when that one has ended.",
    RunState.STOPPING: "Its server is being stopped.",
}
OVER = "Its server is no longer running: a load needs a ready server."


def check_can_load(run: Run) -> None:
    """Raise LaunchRefusedError if no load can be started on this run now, with the reason as a sentence."""
    if run.state is not RunState.READY:
        raise LaunchRefusedError(REFUSALS.get(run.state, OVER))


def describe_error(error: Exception) -> str:
    """Return the error as text."""
    return f"{error.strerror} ({error.filename})." if isinstance(error, OSError) else str(error)


@dataclass
class RunLoads:
    """Starts and observes the loads of a run; `directory` is the run's. Independent of the server's state."""

    deps: Dependencies
    directory: Path
    _shims: dict[Path, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def newest(self) -> Path:
        """Directory of the newest load, or of the first one before it begins."""
        return newest_load(self.directory)

    @property
    def index(self) -> int:
        """Number of loads before the newest one; 0 before the first one begins."""
        return max(0, len(load_directories(self.directory)) - 1)

    @property
    def _next_directory(self) -> Path:
        """Directory for the next load: that of one that never began because Pitwall was killed, else a new one."""
        if self.read_status().state == "absent":
            return self.newest
        return self.directory / f"{WORKLOAD}-{len(load_directories(self.directory)) + 1}"

    def read_status(self) -> ProcessStatus:
        """Return the status of the newest load."""
        for shim in self._shims.values():
            shim.poll()
        return process_status(self.newest, self._shims.get(self.newest))

    def could_not_start(self) -> bool:
        """Whether this process started the newest load's shim; if the load is absent, the shim failed."""
        return self.newest in self._shims

    def begin(self, run: Run, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
        """Start the next load; raises OSError."""
        assert self.deps.prepare_workload, "a load needs a Supervisor with prepare_workload"
        directory = self._next_directory
        private_folder(self.directory)
        private_folder(directory)
        loaded = run.model_copy(update={"workload": spec, "run_dir": str(self.directory)})
        argv = self.deps.prepare_workload(loaded, directory)
        write_spec(ProcessSpec(argv, str(ROOT), log=LOG), directory)
        self._shims[directory] = start_shim(directory, secrets)

    def note_end(self, run: Run, status: ProcessStatus) -> tuple[str, bool | None]:
        """Record the end of the newest load; return it as a sentence, and whether it ended well (None: unknown)."""
        assert status.exit
        sentence, is_well = _describe_end(self.newest, status.exit, status.started_at is not None)
        self.deps.state_log.note(run.id, "workload", sentence, exit_code=status.exit.exit_code, is_well=is_well)
        return sentence, is_well

    def ends(self, most: int) -> list[tuple[str, bool | None]]:
        """Return how the first loads ended, as `note_end` does; running ones are left out."""
        statuses = [(path, process_status(path)) for path in load_directories(self.directory)[:most]]
        return [
            _describe_end(path, status.exit, status.started_at is not None) for path, status in statuses if status.exit
        ]

    def stop(self) -> StopReport:
        """Stop load and recorder, whose requests are recorded as cancelled; may be slow."""
        return stop_clients(self.directory)


def _describe_end(directory: Path, end: ProcessExit, was_started: bool) -> tuple[str, bool | None]:
    is_broken = bool(end.exit_code) or end.signal is not None or not was_started
    last_line = next(reversed(log_tail(directory / LOG)), "") if end.exit_code else ""
    sentence = f"{describe_exit(end, 'The workload')} {last_line}".strip()
    return sentence, False if is_broken else None if end.exit_code is None else True
