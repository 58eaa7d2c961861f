"""How far the newest load of a run is, as its client writes it down."""

from __future__ import annotations

from pathlib import Path

from domain import Run, RunState
from launcher.processes.process import load_directories
from workloads.process.job import Progress
from workloads.process.prepare import read_progress

IS_RUNNING, IS_PAUSED = "running", "paused"


def load_under_way(run: Run) -> Progress | None:
    """The load that the run is under now; None without one."""
    progress = _newest(run) if run.state is RunState.RUNNING else None
    return progress if progress and progress.state in (IS_RUNNING, IS_PAUSED) else None


def has_ended(run: Run) -> bool:
    """Whether nothing more is to be measured of it: it has ended, or its load is over and its server stays up."""
    progress = None if run.state.is_final else _newest(run)
    return run.state.is_final or (progress is not None and progress.state not in (IS_RUNNING, IS_PAUSED))


def _newest(run: Run) -> Progress | None:
    newest = next(reversed(load_directories(Path(run.run_dir))), None) if run.run_dir else None
    return read_progress(newest) if newest else None
