"""Reads the progress of a run's newest load from its client's file."""

from __future__ import annotations

from pathlib import Path

from domain import Run, RunState
from launcher.processes.process import load_directories
from workloads.job import LoadProgress
from workloads.process.prepare import read_progress

IS_RUNNING, IS_PAUSED = "running", "paused"


def running_load(run: Run) -> LoadProgress | None:
    """Return the progress of the run's current load; None without one."""
    progress = _newest(run) if run.state is RunState.RUNNING else None
    return progress if progress and progress.state in (IS_RUNNING, IS_PAUSED) else None


def has_ended(run: Run) -> bool:
    """Whether nothing more will be measured: the run has ended, or its load has and its server stays up."""
    progress = None if run.state.is_final else _newest(run)
    return run.state.is_final or (progress is not None and progress.state not in (IS_RUNNING, IS_PAUSED))


def _newest(run: Run) -> LoadProgress | None:
    newest = next(reversed(load_directories(Path(run.run_dir))), None) if run.run_dir else None
    return read_progress(newest) if newest else None
