"""An arm is one configuration under one workload; its repeats are runs, as a rule a server start each.

Two runs are of one arm when everything that is known to matter is equal. Where something is not known of one of them (a
model that was not on the disk yet when its first server started) they are of one arm only within one machine and by the
identical command, for an unknown is never equal to another unknown.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from analysis.comparison.facts import RunFacts, Served
from analysis.comparison.model_names import base_name
from analysis.comparison.starts import starts_of

NUMBERED = re.compile(r" #\d+$")  # as repeats are named
NEEDED = ("model_files", "engine_version", "gpus")  # without these two runs are held together by their command alone


@dataclass(frozen=True, slots=True)
class Arm:
    """Repeats of one configuration under one workload, the first by time first."""

    key: str  # 12 hex digits, equal for repeats
    runs: tuple[RunFacts, ...]
    unknown: tuple[str, ...] = ()  # what is not known of it, so that its command stands for it
    left_out: Mapping[str, str] = field(default_factory=dict)  # run id -> the reason that a person gave

    @property
    def id(self) -> str:
        return self.runs[0].run_id

    @property
    def starts(self) -> tuple[RunFacts, ...]:
        """Its server starts, which are what is counted: runs that met one process are put together."""
        return starts_of(self.runs)

    @property
    def name(self) -> str:
        """That of its first run, without the number of the repeat."""
        return NUMBERED.sub("", self.runs[0].name)


def arms_of(
    runs: Sequence[RunFacts], apart: Collection[str] = (), left_out: Mapping[str, str] | None = None
) -> list[Arm]:
    """The arms of these runs in the order in which each is first met.

    apart: ids of runs that are arms of their own, taken out of the one they would be of. left_out: run id -> why it
    does not count; an arm of which all are left out is none.
    """
    out = left_out or {}
    groups = [[run] for run in runs if run.run_id in apart]
    groups += _grouped([run for run in runs if run.run_id not in apart])
    first = {run.run_id: place for place, run in enumerate(runs)}
    groups.sort(key=lambda group: min(first[run.run_id] for run in group))
    return [_arm(group, out) for group in groups if any(run.run_id not in out for run in group)]


def _arm(group: Sequence[RunFacts], out: Mapping[str, str]) -> Arm:
    kept = sorted((run for run in group if run.run_id not in out), key=_when)
    unknown = dict.fromkeys(name for run in kept for name in unknown_of(run.served))
    said = {run.run_id: out[run.run_id] for run in group if run.run_id in out}
    return Arm(arm_key(min(kept, key=_gaps)), tuple(kept), tuple(unknown), said)


def _grouped(runs: Sequence[RunFacts]) -> list[list[RunFacts]]:
    """Those of which most is known first: a run with gaps joins the one group that it fits, or is alone."""
    groups: list[list[_Known]] = []
    for run in sorted(map(_known, runs), key=lambda one: len(one.unknown)):
        fitting = [group for group in groups if all(_is_repeat(run, other) for other in group)]
        if len(fitting) == 1:
            fitting[0].append(run)
        else:
            groups.append([run])
    return [[one.run for one in group] for group in groups]


class _Known(NamedTuple):
    """A run with what it is held against others by: a run of a long list is held against hundreds."""

    run: RunFacts
    identity: Mapping[str, Any]
    workload: list[Any]
    unknown: tuple[str, ...]


def _known(run: RunFacts) -> _Known:
    return _Known(run, identity_of(run.served), workload_of(run), unknown_of(run.served))


def is_repeat(one: RunFacts, other: RunFacts) -> bool:
    """Whether two runs are of one arm: nothing known is unlike, and for what is not known the command stands."""
    return _is_repeat(_known(one), _known(other))


def _is_repeat(one: _Known, other: _Known) -> bool:
    a, b = one.identity, other.identity
    if one.workload != other.workload:
        return False
    if any(a[name] != b[name] for name in a if name not in NEEDED or None not in (a[name], b[name])):
        return False
    if not (one.unknown or other.unknown):
        return True
    mine, theirs = one.run.served, other.run.served
    if not mine.command:  # and nothing stands for it
        return False
    return (mine.machine_id, mine.command) == (theirs.machine_id, theirs.command)


def arm_key(run: RunFacts) -> str:
    """12 hex digits over what it served and the load that it was put under, for a program to tell arms apart."""
    by_command = [run.served.machine_id, run.served.command] if unknown_of(run.served) else []
    said = json.dumps([identity_of(run.served), workload_of(run), by_command], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def identity_of(served: Served) -> dict[str, Any]:
    """What makes two servers alike. Settings in effect count, however the command spelled them."""
    return {
        "engine": served.engine,
        "engine_version": served.engine_version,
        "image": served.image,
        "model": base_name(served.model) if served.model else None,
        "model_files": served.model_files,
        "gpus": served.gpus,
        "settings": dict(served.settings),
    }


def unknown_of(served: Served) -> tuple[str, ...]:
    """What is not known of a server and would have to be for its repeats on another machine to count."""
    missing = [name for name in NEEDED if getattr(served, name) is None]
    if served.image:
        missing = [name for name in missing if name != "engine_version"]  # an image by its digest names it
    return (*missing, *(() if served.is_configuration_known else ("configuration",)))


def workload_of(run: RunFacts) -> list[Any]:
    """The loads that a run was put under, by what was asked; those of an older Pitwall by name."""
    asked = [
        [load.asked.workload, load.asked.prompt_set_hash, dict(load.asked.params)] if load.asked else [run.workload]
        for load in run.loads
    ]
    return sorted({json.dumps(one, sort_keys=True) for one in asked} or {json.dumps([run.workload])})


def _gaps(run: RunFacts) -> int:
    return len(unknown_of(run.served))


def _when(run: RunFacts) -> tuple[float, str]:
    return (run.began_at.timestamp() if run.began_at else 0.0, run.run_id)
