"""Pitwall's client processes of a run: the newest load and the newest recorder, which send requests to its server."""

from __future__ import annotations

from pathlib import Path

from launcher.processes.process import RECORDER, WORKLOAD, client_directories, load_directories
from launcher.processes.stopping import StopReport, join, stop_process

GRACE_S = 10.0


def newest_load(directory: Path) -> Path:
    """Return the directory of a run's newest load, or of its first one if it has none yet."""
    return next(reversed(load_directories(directory)), directory / WORKLOAD)


def newest_recorder(directory: Path) -> Path | None:
    """Return the directory of a run's newest recorder; None if it has none."""
    return next(reversed(client_directories(directory, RECORDER)), None)


def close_recorder(directory: Path) -> StopReport:
    """Stop a run's newest recorder; requests in flight are recorded as cancelled. May take its time."""
    newest = newest_recorder(directory)
    return stop_process(newest, GRACE_S) if newest else StopReport()


def stop_clients(directory: Path) -> StopReport:
    """Stop the newest recorder and the newest load of a run; may take its time."""
    return join([close_recorder(directory), stop_process(newest_load(directory), GRACE_S)])
