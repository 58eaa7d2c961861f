"""The workload that a comparison is about. A server start may carry several loads, of several workloads.

A comparison takes of each run the loads of one workload, so that a further load of another takes nothing from it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord
from domain import JsonValue
from errors import PitwallError

DIGITS = 6  # of the hash in a workload's id
NO_PARAMS: Mapping[str, JsonValue] = {}


class WorkloadNotSharedError(PitwallError):
    """A name that none of the workloads to choose from has."""


class Workload(NamedTuple):
    """What a load asked for: equal for loads whose values may be put together."""

    name: str
    prompts: str | None  # hash of the texts, their order and their limits
    params_json: str  # sorted by name

    @property
    def id(self) -> str:
        """'ladder@3fa2b1': for an address or a command line."""
        said = hashlib.sha256(f"{self.prompts} {self.params_json}".encode()).hexdigest()
        return f"{self.name}@{said[:DIGITS]}"

    @property
    def params(self) -> dict[str, JsonValue]:
        params: dict[str, JsonValue] = json.loads(self.params_json)
        return params


def workload_of_load(load: LoadRecord, run: RunFacts) -> Workload:
    """What was asked; of a load that an older Pitwall wrote, by the texts that were sent."""
    if load.asked is None:
        texts = json.dumps(sorted({request.prompt_hash or "" for request in load.measured}))
        return Workload(run.workload or "", texts, "{}")
    params = json.dumps(dict(load.asked.params), sort_keys=True)
    return Workload(load.asked.workload, load.asked.prompt_set_hash, params)


def shared_workloads(runs: Sequence[RunFacts]) -> list[Workload]:
    """Those that two of the runs or more were put under: the one of most runs first, then the one met first."""
    counts = Counter(one for run in runs for one in dict.fromkeys(workload_of_load(load, run) for load in run.loads))
    return [one for one, count in counts.most_common() if count > 1]


def find_workload(shared: Sequence[Workload], wanted: str | None) -> Workload | None:
    """The one of this id or name, or the first where none is wanted; raises WorkloadNotSharedError."""
    if wanted is None:
        return shared[0] if shared else None
    found = next((one for one in shared if wanted in (one.id, one.name)), None)
    if found is None:
        ids = ", ".join(one.id for one in shared)
        has = f"the runs share {ids}" if ids else "the runs share none"
        raise WorkloadNotSharedError(f"No two of these runs were put under the workload {wanted[:80]!r}: {has}.")
    return found


def is_under(run: RunFacts, workload: Workload) -> bool:
    """Whether the run was put under this workload, by a whole load or one that was broken off."""
    return any(workload_of_load(load, run) == workload for load in run.loads)


def under(run: RunFacts, workload: Workload | None) -> RunFacts:
    """The run with the loads of this workload alone; as it is where it has none of it.

    A load that was broken off, or goes on, does not count beside a whole one.
    """
    mine = [load for load in run.loads if workload_of_load(load, run) == workload]
    kept = [load for load in mine if load.is_complete] or mine
    return with_loads(run, kept) if kept else run


def under_name(run: RunFacts, name: str, params: Mapping[str, JsonValue] = NO_PARAMS) -> RunFacts:
    """The run with the loads of the workload of this name alone, and of these among its params, maybe none."""
    asked = [(load, workload_of_load(load, run)) for load in run.loads]
    return with_loads(run, [load for load, one in asked if one.name == name and has_params(one.params, params)])


def has_params(asked: Mapping[str, JsonValue], wanted: Mapping[str, JsonValue]) -> bool:
    """Whether a load was asked for with all of these."""
    return all(name in asked and asked[name] == value for name, value in wanted.items())


def with_loads(run: RunFacts, kept: Sequence[LoadRecord]) -> RunFacts:
    """The run with these of its loads alone, and what was met under them."""
    if len(kept) == len(run.loads):
        return run
    ids = {load.load_id for load in kept}
    return replace(
        run,
        loads=tuple(kept),
        conditions=tuple(one for one in run.conditions if one.load_id in ids),
        neighbours=tuple(one for one in run.neighbours if one.load_id in ids),
    )
