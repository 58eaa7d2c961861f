"""Trend of one configuration over engine versions: the values of its server starts under each.

It is displayed but not judged: the study's own alternating starts decide whether the last upgrade changed anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from analysis.comparison.arm_differences import workload_of
from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.comparison.replicates import make_replicate
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Objective


class VersionStarts(NamedTuple):
    """The starts under one version, with the time of the first; `version` None: unknown."""

    version: str | None
    values: tuple[float, ...]
    first_at: datetime | None


def starts_by_version(
    runs: Sequence[RunFacts], references: Sequence[RunFacts], objective: Objective
) -> list[VersionStarts]:
    """Return the values per version of runs that equal one of `references` except for the version, oldest first.

    A version without values is left out.
    """
    matching_runs = sorted(
        (run for run in runs if any(is_same_but_for_version(run, reference) for reference in references)),
        key=_start_order,
    )
    keys = evidence_keys([load for run in matching_runs for load in run.loads if load.measured], objective)
    values_by_version: dict[str | None, list[tuple[float, datetime | None]]] = {}
    for run in matching_runs:
        value = make_replicate(run, objective, keys).value
        if value is not None:
            values_by_version.setdefault(run.served.image or run.served.engine_version, []).append(
                (value, run.began_at)
            )
    return [
        VersionStarts(version, tuple(value for value, _ in starts), starts[0][1])
        for version, starts in values_by_version.items()
    ]


def is_same_but_for_version(first: RunFacts, second: RunFacts) -> bool:
    """Whether command, machine and load are equal; the program's path and the image belong to the version."""
    first_setup, second_setup = first.served, second.served
    is_same_machine = (first_setup.machine_id, first_setup.engine, first_setup.gpus) == (
        second_setup.machine_id,
        second_setup.engine,
        second_setup.gpus,
    )
    is_same_command = bool(first_setup.command) and _command_words(first_setup) == _command_words(second_setup)
    return is_same_machine and is_same_command and workload_of(first) == workload_of(second)


def _command_words(served: ServerSetup) -> list[str]:
    """Return the words of its command, without the program and the image."""
    image = served.image or ""
    return [word for word in served.command[1:] if not (word == image or image.startswith(f"{word}@"))]


def _start_order(run: RunFacts) -> tuple[float, str]:
    return (run.began_at.timestamp() if run.began_at else 0.0, run.run_id)
