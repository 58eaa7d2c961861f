"""The loads that Pitwall can put a server under, by name."""

from __future__ import annotations

from collections.abc import Mapping

from domain import WATCH, JsonValue, WorkloadSpec
from workloads.five_prompts import FIVE_PROMPTS
from workloads.grid import GRID
from workloads.knee import KNEE
from workloads.ladder import LADDER
from workloads.own_prompts import OWN_PROMPTS
from workloads.plan import Workload
from workloads.session import SESSION
from workloads.stream import DEMO_STREAM
from workloads.tool_matrix import TOOL_MATRIX
from workloads.traffic import TRAFFIC
from workloads.vision import VISION

ALL = (FIVE_PROMPTS, LADDER, KNEE, TRAFFIC, GRID, SESSION, TOOL_MATRIX, VISION, OWN_PROMPTS, DEMO_STREAM)
REGISTRY: dict[str, Workload] = {workload.name: workload for workload in ALL}


def spec_for(name: str, params: Mapping[str, JsonValue] | None = None) -> WorkloadSpec:
    """The spec of a workload with these parameters, defaults filled in.

    Raises KeyError for an unknown name and pydantic's ValidationError for a wrong parameter.
    """
    return WATCH if name == WATCH.name else REGISTRY[name].spec(params or {})
