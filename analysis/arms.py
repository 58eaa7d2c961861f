"""An arm is one configuration under one workload; its repeats are runs, each a server start of its own.

Two runs are of one arm when everything that is known to matter is equal. Where something is not known they are of one
arm only within one machine and by the identical command, for an unknown is never equal to another unknown.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.facts import RunFacts, Served

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
    groups: dict[tuple[str, str | None], list[RunFacts]] = {}
    for run in runs:
        groups.setdefault((arm_key(run), run.run_id if run.run_id in apart else None), []).append(run)
    return [
        Arm(key, tuple(kept), unknown_of(kept[0].served), {r.run_id: out[r.run_id] for r in group if r.run_id in out})
        for (key, _), group in groups.items()
        if (kept := sorted((r for r in group if r.run_id not in out), key=_when))
    ]


def arm_key(run: RunFacts) -> str:
    """Equal for runs of one arm: 12 hex digits over what it served and the load that it was put under."""
    said = json.dumps([identity_of(run.served), workload_of(run)], sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def identity_of(served: Served) -> dict[str, Any]:
    """What makes two servers alike. Settings in effect count, however the command spelled them."""
    known: dict[str, Any] = {
        "engine": served.engine,
        "engine_version": served.engine_version,
        "image": served.image,
        "model": served.model_files or served.model,
        "gpus": served.gpus,
        "settings": dict(served.settings),
    }
    if unknown_of(served):
        known |= {"machine": served.machine_id, "command": served.command}
    return known


def unknown_of(served: Served) -> tuple[str, ...]:
    """What is not known of a server and would have to be for its repeats on another machine to count."""
    missing = [name for name in NEEDED if getattr(served, name) is None]
    if served.image:
        missing = [name for name in missing if name != "engine_version"]  # an image by its digest tells it
    return (*missing, *(() if served.is_configuration_known else ("configuration",)))


def workload_of(run: RunFacts) -> list[Any]:
    """The loads that a run was put under, by what was asked; those of an older Pitwall by name."""
    asked = [
        [load.asked.workload, load.asked.prompt_set_hash, dict(load.asked.params)] if load.asked else [run.workload]
        for load in run.loads
    ]
    return sorted({json.dumps(one, sort_keys=True) for one in asked} or {json.dumps([run.workload])})


def _when(run: RunFacts) -> tuple[float, str]:
    return (run.began_at.timestamp() if run.began_at else 0.0, run.run_id)
