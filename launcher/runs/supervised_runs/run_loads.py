"""The loads of one run, one after the other: each is a process under its own shim in the run's directory."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from domain import Run, RunState, WorkloadSpec
from launcher.checks.preflight import LaunchRefusedError
from launcher.processes.exit_messages import describe_exit, log_tail
from launcher.processes.process import (
    ROOT,
    WORKLOAD,
    ProcessExit,
    ProcessSpec,
    ProcessStatus,
    load_directories,
    look_at,
    start_shim,
    write_spec,
)
from launcher.processes.stopping import StopReport, join, stop_process
from launcher.runs.supervised_runs.dependencies import Dependencies
from launcher.runs.supervised_runs.run_recorders import close_recorder
from machine.private_files import private_folder

GRACE_S = 10.0
LOG = "workload.log"
LOAD_RUNS = "workload running"
NO_SHIM = "The process that supervises it could not start: see shim.log in the run directory."
REFUSALS = {
    RunState.QUEUED: "It waits in the queue: a load needs a server that answers.",
    RunState.STARTING: "Its server is not ready yet: a load needs one that answers.",
    RunState.RUNNING: "A load is running on it: the next one can begin when that has ended.",
    RunState.STOPPING: "Its server is being stopped.",
}
OVER = "Its server does not run any more: a load needs one that answers."


def check_can_load(run: Run) -> None:
    """Raises LaunchRefusedError with the sentence that says why no load can be put on this run now."""
    if run.state is not RunState.READY:
        raise LaunchRefusedError(REFUSALS.get(run.state, OVER))


def words_of(error: Exception) -> str:
    """What stands in its way, in words."""
    return f"{error.strerror} ({error.filename})." if isinstance(error, OSError) else str(error)


@dataclass
class RunLoads:
    """What is under way of a run's loads; `directory` is the run's, whose server is none of this one's business."""

    deps: Dependencies
    directory: Path
    _shims: dict[Path, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def newest(self) -> Path:
        """Where the newest load is, or the first one will be."""
        return newest_load(self.directory)

    @property
    def place(self) -> int:
        """How many loads came before the newest one, or before the first one that will be."""
        return max(0, len(load_directories(self.directory)) - 1)

    @property
    def _next(self) -> Path:
        """Where the next load begins: where one was to begin before Pitwall was killed, else in a folder of its own."""
        if self.look().state == "absent":
            return self.newest
        return self.directory / f"{WORKLOAD}-{len(load_directories(self.directory)) + 1}"

    def look(self) -> ProcessStatus:
        """How the newest load is."""
        for shim in self._shims.values():
            shim.poll()
        return look_at(self.newest, self._shims.get(self.newest))

    def could_not_start(self) -> bool:
        """Whether the shim of the newest load was started, of which there is no trace."""
        return self.newest in self._shims

    def begin(self, run: Run, spec: WorkloadSpec, secrets: Mapping[str, str]) -> None:
        """Start the next load; raises OSError."""
        assert self.deps.prepare_workload, "a load needs a Supervisor with prepare_workload"
        directory = self._next
        private_folder(self.directory)
        private_folder(directory)
        loaded = run.model_copy(update={"workload": spec, "run_dir": str(self.directory)})
        argv = self.deps.prepare_workload(loaded, directory)
        write_spec(ProcessSpec(argv, str(ROOT), log=LOG), directory)
        self._shims[directory] = start_shim(directory, secrets)

    def note_end(self, run: Run, status: ProcessStatus) -> tuple[str, bool | None]:
        """Report how the newest load ended: in words, and whether it ended well; None where nobody can know."""
        assert status.exit
        words, is_well = _words_of_end(self.newest, status.exit, status.started_at is not None)
        self.deps.recorder.note(run.id, "workload", words, exit_code=status.exit.exit_code)
        return words, is_well

    def ends(self, most: int) -> list[tuple[str, bool | None]]:
        """How the first loads ended, as `note_end` has it; those that have not are left out."""
        found = [(path, look_at(path)) for path in load_directories(self.directory)[:most]]
        return [_words_of_end(path, one.exit, one.started_at is not None) for path, one in found if one.exit]

    def stop(self) -> StopReport:
        """End what sends to the server, its requests recorded as cancelled; may take its time."""
        return stop_clients(self.directory)


def _words_of_end(directory: Path, end: ProcessExit, was_started: bool) -> tuple[str, bool | None]:
    is_broken = bool(end.exit_code) or end.signal is not None or not was_started
    last_line = next(reversed(log_tail(directory / LOG)), "") if end.exit_code else ""
    words = f"{describe_exit(end, 'The workload')} {last_line}".strip()
    return words, False if is_broken else None if end.exit_code is None else True


def newest_load(directory: Path) -> Path:
    """Where the newest load of the run of this directory is, or the first one will be."""
    return next(reversed(load_directories(directory)), directory / WORKLOAD)


def stop_clients(directory: Path) -> StopReport:
    """End what of ours sends to the server of the run of this directory, its recorder and its newest load.

    May take its time.
    """
    return join([close_recorder(directory), stop_process(newest_load(directory), GRACE_S)])
