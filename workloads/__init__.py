"""Registry of the loads that Pitwall can send to a server, by name."""

from __future__ import annotations

from collections.abc import Mapping

from domain import WATCH, JsonValue, WorkloadSpec
from load_records import AGENT_TASK
from workloads.agent_tasks.task_params import AgentTaskParams
from workloads.plan import Workload
from workloads.process.external_tools import drive_params, tool_of
from workloads.shapes.agent_replay import AGENT_REPLAY
from workloads.shapes.endurance import ENDURANCE
from workloads.shapes.fidelity import FIDELITY
from workloads.shapes.five_prompts import FIVE_PROMPTS
from workloads.shapes.grid import GRID
from workloads.shapes.knee import KNEE
from workloads.shapes.ladder import LADDER
from workloads.shapes.own_prompts import OWN_PROMPTS
from workloads.shapes.session import SESSION
from workloads.shapes.stream import DEMO_STREAM
from workloads.shapes.traffic import TRAFFIC
from workloads.suites.needles import NEEDLES
from workloads.suites.tool_matrix import TOOL_MATRIX
from workloads.suites.tools_at_depth import TOOLS_AT_DEPTH
from workloads.suites.vision import VISION

ALL = (
    FIVE_PROMPTS, LADDER, KNEE, TRAFFIC, GRID, SESSION, AGENT_REPLAY, ENDURANCE, FIDELITY, TOOL_MATRIX, TOOLS_AT_DEPTH,
    NEEDLES, VISION, OWN_PROMPTS, DEMO_STREAM,
)  # fmt: skip
REGISTRY: dict[str, Workload] = {workload.name: workload for workload in ALL}


def spec_for(name: str, params: Mapping[str, JsonValue] | None = None) -> WorkloadSpec:
    """Return the spec of a workload with these parameters and defaults.

    Raises KeyError for an unknown name and pydantic's ValidationError for a wrong parameter.
    """
    if tool_of(name):  # another tool's
        return WorkloadSpec(name=name, params=drive_params(params or {}).model_dump(mode="json"))
    if name == AGENT_TASK:
        return WorkloadSpec(name=name, params=full_params(name, params or {}))
    return WATCH if name == WATCH.name else REGISTRY[name].spec(params or {})


def full_params(name: str, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the parameters with defaults, as spec_for records them, without planning; raises as it does."""
    if tool_of(name):
        return drive_params(params).model_dump(mode="json")
    if name == AGENT_TASK:
        return AgentTaskParams.model_validate(dict(params)).model_dump(mode="json")
    return REGISTRY[name].validate_params(params).model_dump(mode="json")


def default_params(name: str) -> dict[str, JsonValue]:
    """Return the parameters that need not be stated; raises KeyError for an unknown name."""
    if name == AGENT_TASK:
        return AgentTaskParams.model_construct().model_dump(mode="json")
    return full_params(name, {})
