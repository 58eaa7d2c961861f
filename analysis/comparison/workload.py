"""The workload that a comparison uses. A server start may have several loads of several workloads.

A comparison uses only the loads of one workload of each run, so loads of other workloads do not affect it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord, compared_params
from domain import JsonValue
from errors import PitwallError

DIGITS = 6  # of the hash in a workload's id
NO_PARAMS: Mapping[str, JsonValue] = {}


class WorkloadNotSharedError(PitwallError):
    """A name that matches none of the available workloads."""


class WorkloadKey(NamedTuple):
    """The plan of a load: equal for loads whose values may be combined."""

    name: str
    prompts: str | None  # hash of the texts, their order and their limits
    params_json: str  # sorted by name

    @property
    def id(self) -> str:
        """'ladder@3fa2b1', for URLs and the command line."""
        digest = hashlib.sha256(f"{self.prompts} {self.params_json}".encode()).hexdigest()
        return f"{self.name}@{digest[:DIGITS]}"

    @property
    def params(self) -> dict[str, JsonValue]:
        params: dict[str, JsonValue] = json.loads(self.params_json)
        return params


def workload_of_load(load: LoadRecord, run: RunFacts) -> WorkloadKey:
    """Return the key of a load's plan; for a load without a recorded plan, by the texts that were sent."""
    return _workload_key(load, run.workload or "")


def last_workload_loads(loads: Sequence[LoadRecord]) -> list[LoadRecord]:
    """Return the loads of one run with the workload of the last one that measured a request; complete ones, if any."""
    measured = [load for load in loads if load.measured]
    matching = [load for load in measured if _workload_key(load) == _workload_key(measured[-1])]
    return [load for load in matching if load.is_complete] or matching


def _workload_key(load: LoadRecord, unplanned_name: str = "") -> WorkloadKey:
    if load.plan is None:
        texts = json.dumps(sorted({request.prompt_hash or "" for request in load.measured}))
        return WorkloadKey(unplanned_name, texts, "{}")
    params = json.dumps(compared_params(load.plan), sort_keys=True)
    return WorkloadKey(load.plan.workload, load.plan.prompt_set_hash, params)


def shared_workloads(runs: Sequence[RunFacts]) -> list[WorkloadKey]:
    """Return the workloads of at least two of the runs: the most frequent first, then by first occurrence."""
    counts = Counter(
        workload for run in runs for workload in dict.fromkeys(workload_of_load(load, run) for load in run.loads)
    )
    return [workload for workload, count in counts.most_common() if count > 1]


def find_workload(shared: Sequence[WorkloadKey], id_or_name: str | None) -> WorkloadKey | None:
    """Return the workload with this id or name, or the first for None; raises WorkloadNotSharedError."""
    if id_or_name is None:
        return shared[0] if shared else None
    workload = next((candidate for candidate in shared if id_or_name in (candidate.id, candidate.name)), None)
    if workload is None:
        ids = ", ".join(candidate.id for candidate in shared)
        shared_text = f"the runs share {ids}" if ids else "the runs share none"
        raise WorkloadNotSharedError(f"No two of these runs have the workload {id_or_name[:80]!r}: {shared_text}.")
    return workload


def has_workload(run: RunFacts, workload: WorkloadKey) -> bool:
    """Whether the run has a load of this workload, complete or interrupted."""
    return any(workload_of_load(load, run) == workload for load in run.loads)


def restrict_to_workload(run: RunFacts, workload: WorkloadKey | None) -> RunFacts:
    """Return the run with only the loads of this workload; unchanged if it has none.

    Interrupted or running loads are dropped if there is a complete one.
    """
    matching_loads = [load for load in run.loads if workload_of_load(load, run) == workload]
    counted_loads = [load for load in matching_loads if load.is_complete] or matching_loads
    return with_loads(run, counted_loads) if counted_loads else run


def restrict_to_name(run: RunFacts, name: str, params: Mapping[str, JsonValue] = NO_PARAMS) -> RunFacts:
    """Return the run with only the loads of the workload of this name and with these params, possibly none."""
    named_loads = [load for load in run.loads if workload_of_load(load, run).name == name]
    return with_loads(run, [load for load in named_loads if has_params(load.plan.params if load.plan else {}, params)])


def has_params(load_params: Mapping[str, JsonValue], required_params: Mapping[str, JsonValue]) -> bool:
    """Whether a load's params contain all required ones."""
    return all(name in load_params and load_params[name] == value for name, value in required_params.items())


def with_loads(run: RunFacts, kept_loads: Sequence[LoadRecord]) -> RunFacts:
    """Return the run with only these loads, and the conditions and neighbours during them."""
    if len(kept_loads) == len(run.loads):
        return run
    ids = {load.load_id for load in kept_loads}
    return replace(
        run,
        loads=tuple(kept_loads),
        conditions=tuple(condition for condition in run.conditions if condition.load_id in ids),
        neighbours=tuple(neighbour for neighbour in run.neighbours if neighbour.load_id in ids),
    )
