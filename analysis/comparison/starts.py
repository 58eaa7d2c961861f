"""Server starts, the unit of counting in a comparison: several runs on one server process are one start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from analysis.comparison.facts import RunFacts

RunT = TypeVar("RunT")


def starts_of(runs: Sequence[RunFacts]) -> tuple[RunFacts, ...]:
    """Return one run per server start, in the order of first occurrence, with the loads of all its runs."""
    return tuple(_merge_runs(group) for group in group_by_start(runs, lambda run: run.processes))


def group_by_start(runs: Sequence[RunT], processes_of: Callable[[RunT], frozenset[str]]) -> list[list[RunT]]:
    """Group runs that share a server process; runs with unknown processes share none."""
    groups: list[list[RunT]] = []
    for run in runs:
        run_processes = processes_of(run)
        matching_groups = [
            group for group in groups if any(not run_processes.isdisjoint(processes_of(member)) for member in group)
        ]
        if matching_groups:
            matching_groups[0].append(run)
            for group in matching_groups[1:]:  # this run connects them
                matching_groups[0].extend(group)
                groups.remove(group)
        else:
            groups.append([run])
    return groups


def _merge_runs(runs: Sequence[RunFacts]) -> RunFacts:
    """Return the first run with the loads of all; of several logs of one server, the one with most windows counts."""
    first, *further_runs = runs
    if not further_runs:
        return first
    return replace(
        first,
        loads=tuple(load for run in runs for load in run.loads),
        fidelity=tuple(load for run in runs for load in run.fidelity),
        depths=tuple(claims for run in runs for claims in run.depths),
        conditions=tuple(condition for run in runs for condition in run.conditions),
        startup_conditions=tuple(condition for run in runs for condition in run.startup_conditions),
        startup_s=next((run.startup_s for run in runs if run.startup_s is not None), None),
        log=max((run.log for run in runs if run.log), key=lambda log: log.windows, default=None),
    )
