"""Server starts, which are what a comparison counts: several runs that met one server process are one start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from analysis.comparison.facts import RunFacts

Kind = TypeVar("Kind")


def starts_of(runs: Sequence[RunFacts]) -> tuple[RunFacts, ...]:
    """One for each server start, in the order in which each is first met, with the loads of all its runs."""
    return tuple(_together(group) for group in by_start(runs, lambda run: run.processes))


def by_start(runs: Sequence[Kind], processes_of: Callable[[Kind], frozenset[str]]) -> list[list[Kind]]:
    """Runs that met one server process put together; what is not known of a process is none."""
    groups: list[list[Kind]] = []
    for run in runs:
        mine = processes_of(run)
        same = [group for group in groups if any(not mine.isdisjoint(processes_of(other)) for other in group)]
        if same:
            same[0].append(run)
            for group in same[1:]:  # this run shows that they are one
                same[0].extend(group)
                groups.remove(group)
        else:
            groups.append([run])
    return groups


def _together(runs: Sequence[RunFacts]) -> RunFacts:
    """The first run with the loads of all; of several logs of one server the one that says most counts."""
    first, *more = runs
    if not more:
        return first
    return replace(
        first,
        loads=tuple(load for run in runs for load in run.loads),
        conditions=tuple(one for run in runs for one in run.conditions),
        startup_conditions=tuple(one for run in runs for one in run.startup_conditions),
        startup_s=next((run.startup_s for run in runs if run.startup_s is not None), None),
        log=max((run.log for run in runs if run.log), key=lambda log: log.windows, default=None),
    )
