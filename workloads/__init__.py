"""The loads that Pitwall can put a server under, by name."""

from __future__ import annotations

from collections.abc import Mapping

from domain import WATCH, JsonValue, WorkloadSpec
from workloads.five_prompts import FIVE_PROMPTS
from workloads.ladder import LADDER
from workloads.plan import Workload
from workloads.stream import DEMO_STREAM

REGISTRY: dict[str, Workload] = {workload.name: workload for workload in (DEMO_STREAM, FIVE_PROMPTS, LADDER)}


def spec_for(name: str, params: Mapping[str, JsonValue] | None = None) -> WorkloadSpec:
    """The spec of a workload with these parameters, defaults filled in.

    Raises KeyError for an unknown name and pydantic's ValidationError for a wrong parameter.
    """
    return WATCH if name == WATCH.name else REGISTRY[name].spec(params or {})
