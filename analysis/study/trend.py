"""The same configuration over the versions of its engine: what its server starts gave under each.

It is shown and not judged: whether the last upgrade changed anything is said by the study's own starts, in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from analysis.comparison.arms import workload_of
from analysis.comparison.facts import RunFacts, Served
from analysis.comparison.replicates import replicate
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Objective


class OfVersion(NamedTuple):
    """The starts under one version, by when the first of them began; `version` None is not known."""

    version: str | None
    values: tuple[float, ...]
    first_at: datetime | None


def over_versions(runs: Sequence[RunFacts], likes: Sequence[RunFacts], objective: Objective) -> list[OfVersion]:
    """The values under each version of the runs that equal one of `likes` but for the version; first met, first listed.

    A version under which no start has a value is left out.
    """
    alike = sorted((run for run in runs if any(is_same_but_for_version(run, one) for one in likes)), key=_began)
    keys = evidence_keys([load for run in alike for load in run.loads if load.measured], objective)
    found: dict[str | None, list[tuple[float, datetime | None]]] = {}
    for run in alike:
        value = replicate(run, objective, keys).value
        if value is not None:
            found.setdefault(run.served.image or run.served.engine_version, []).append((value, run.began_at))
    return [OfVersion(version, tuple(value for value, _ in its), its[0][1]) for version, its in found.items()]


def is_same_but_for_version(one: RunFacts, other: RunFacts) -> bool:
    """The same words on one machine under the same load; the program's path and the image are the version's."""
    mine, theirs = one.served, other.served
    is_one_place = (mine.machine_id, mine.engine, mine.gpus) == (theirs.machine_id, theirs.engine, theirs.gpus)
    is_one_command = bool(mine.command) and _words(mine) == _words(theirs)
    return is_one_place and is_one_command and workload_of(one) == workload_of(other)


def _words(served: Served) -> list[str]:
    """The words of its command, without the program and the image."""
    image = served.image or ""
    return [word for word in served.command[1:] if not (word == image or image.startswith(f"{word}@"))]


def _began(run: RunFacts) -> tuple[float, str]:
    return (run.began_at.timestamp() if run.began_at else 0.0, run.run_id)
