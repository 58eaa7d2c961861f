"""Request recorders of one run, one after another: each is a process under its own shim in the run's directory.

Its whole state is in its directory, so that it outlives Pitwall and the next one finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from domain import Run, RunState
from launcher.checks.launch_request import LaunchRefusedError
from launcher.client_processes import newest_recorder
from launcher.processes.process import (
    RECORDER,
    ROOT,
    ProcessSpec,
    ProcessStatus,
    client_directories,
    process_status,
    start_shim,
    write_spec,
)
from machine.private_files import private_folder

LOG = "recorder.log"
ALREADY_OPEN = "A recorder is already open for this run."
NO_SERVER = "A recorder needs a ready server."
PrepareRecorder = Callable[[Run, Path], list[str]]


def recorder_status(directory: Path) -> ProcessStatus:
    """Return the status of the newest recorder in this run directory."""
    newest = newest_recorder(directory)
    return process_status(newest) if newest else ProcessStatus("absent")


def is_recorder_open(directory: Path) -> bool:
    """Whether a recorder in this run directory is starting or alive."""
    return recorder_status(directory).state in ("starting", "alive")


def open_recorder(run: Run, directory: Path, prepare: PrepareRecorder, secrets: Mapping[str, str]) -> Path:
    """Start a recorder for this run; return its directory. Raises LaunchRefusedError, OSError."""
    if run.state not in (RunState.READY, RunState.RUNNING) or not run.base_url:
        raise LaunchRefusedError(NO_SERVER)
    if is_recorder_open(directory):
        raise LaunchRefusedError(ALREADY_OPEN)
    count = len(client_directories(directory, RECORDER))
    recorder_directory = directory / (f"{RECORDER}-{count + 1}" if count else RECORDER)
    private_folder(recorder_directory)
    argv = prepare(run.model_copy(update={"run_dir": str(directory)}), recorder_directory)
    write_spec(ProcessSpec(argv, str(ROOT), log=LOG), recorder_directory)
    start_shim(recorder_directory, secrets)
    return recorder_directory
