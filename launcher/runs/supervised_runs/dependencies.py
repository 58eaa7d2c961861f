"""Services that every run's state machine uses."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from domain import Machine, Run
from launcher.checks.provenance import GpuSnapshot
from launcher.runs.state_log import StateLog
from machine.detached_calls import DetachedCalls

# From a run and the exit code of a server that was ready: a cause, and the log line that shows it.
ExplainFailure = Callable[[Run, int | None], tuple[str, str | None] | None]


# From a run's id: a function that says whether the run has been sampled once more since; None: nothing samples it yet.
NextSamples = Callable[[str], Callable[[], bool] | None]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Services shared by all supervised runs of one supervisor."""

    state_log: StateLog
    mono_s: Callable[[], float]
    pool: Executor  # for slow work: probes and stops
    stop_grace_s: float
    prepare_workload: Callable[[Run, Path], list[str]] | None
    explain_failure: ExplainFailure
    gpus: Callable[[], GpuSnapshot]
    save_machine: Callable[[Machine], object]  # stores the description of another machine
    file_reads: DetachedCalls  # of files that may hang
    wake: Callable[[], None]  # triggers a check of all runs
    next_samples: NextSamples
