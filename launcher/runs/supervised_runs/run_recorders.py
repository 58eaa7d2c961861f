"""The recorders of one run, one after the other: each a process under its own shim in the run's directory.

All that is known of one is in its directory, so that it outlives Pitwall and the next one finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from domain import Run, RunState
from launcher.checks.preflight import LaunchRefusedError
from launcher.processes.process import (
    RECORDER,
    ROOT,
    ProcessSpec,
    ProcessStatus,
    look_at,
    part_directories,
    start_shim,
    write_spec,
)
from launcher.processes.stopping import StopReport, stop_process
from machine.private_files import private_folder

GRACE_S = 10.0
LOG = "recorder.log"
OPEN_ALREADY = "A recorder is open for it already."
NO_SERVER = "A recorder needs a server that answers."
Prepare = Callable[[Run, Path], list[str]]


def newest_recorder(directory: Path) -> Path | None:
    """The directory of the newest recorder of a run."""
    return next(reversed(part_directories(directory, RECORDER)), None)


def look_at_recorder(directory: Path) -> ProcessStatus:
    """How the newest recorder of the run of this directory is."""
    newest = newest_recorder(directory)
    return look_at(newest) if newest else ProcessStatus("absent")


def is_recorder_open(directory: Path) -> bool:
    """Whether a recorder of the run of this directory is starting or alive."""
    return look_at_recorder(directory).state in ("starting", "alive")


def open_recorder(run: Run, directory: Path, prepare: Prepare, secrets: Mapping[str, str]) -> Path:
    """Start one for this run; its directory. Raises LaunchRefusedError, OSError."""
    if run.state not in (RunState.READY, RunState.RUNNING) or not run.base_url:
        raise LaunchRefusedError(NO_SERVER)
    if is_recorder_open(directory):
        raise LaunchRefusedError(OPEN_ALREADY)
    count = len(part_directories(directory, RECORDER))
    own = directory / (f"{RECORDER}-{count + 1}" if count else RECORDER)
    private_folder(own)
    argv = prepare(run.model_copy(update={"run_dir": str(directory)}), own)
    write_spec(ProcessSpec(argv, str(ROOT), log=LOG), own)
    start_shim(own, secrets)
    return own


def close_recorder(directory: Path) -> StopReport:
    """End the newest one, what is under way recorded as cancelled; may take its time."""
    newest = newest_recorder(directory)
    return stop_process(newest, GRACE_S) if newest else StopReport()
