"""The services that every run's state machine uses."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from domain import Machine, Run
from launcher.runs.provenance import GpusNow
from launcher.runs.recorder import RunRecorder
from machine.asides import Asides

# Of a run and the exit status of a server that was ready: a cause, and the line of the log that shows it.
ExplainFailure = Callable[[Run, int | None], tuple[str, str | None] | None]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Given once by the supervisor, the same for all of them."""

    recorder: RunRecorder
    mono_s: Callable[[], float]
    pool: Executor  # for what may take its time: probes and stops
    stop_grace_s: float
    prepare_workload: Callable[[Run, Path], list[str]] | None
    explain_failure: ExplainFailure
    gpus: Callable[[], GpusNow]
    save_machine: Callable[[Machine], object]  # what another machine says that it is
    looks: Asides  # at files that may hang
    wake: Callable[[], None]  # have every run looked at now
