"""Workloads of a study, and matching of a run's loads to them when several share a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from analysis.comparison.workload import has_params
from commands.study_file import StudyPlan
from domain import JsonValue, WorkloadSpec
from load_records import DRIVER_OPTIONS, Load
from redaction import mask_json
from workloads import full_params
from workloads.process.external_tools import tool_of

MACHINE_PARAM = "executable"  # a tool's path on a machine; not recorded with the load's parameters


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """A study's plan for one of its workloads; `params` are those in which it differs from others of its name."""

    plan: StudyPlan
    params: Mapping[str, JsonValue] = field(default_factory=dict)

    def is_requested_by(self, spec: WorkloadSpec) -> bool:
        """Whether a run with this workload was launched for it."""
        return spec.name == self.plan.workload and has_params(_as_recorded(spec.name, spec.params), self.params)

    def matches_load(self, load: Load) -> bool:
        """Whether an external tool's load belongs to it."""
        tool, options = tool_of(self.plan.workload), load.params.get(DRIVER_OPTIONS)
        if tool is None or load.tool != tool.name or (options is None and self.params):
            return False
        return has_params(full_params(tool.workload, {MACHINE_PARAM: "-", **(options or {})}), self.params)


def workload_plans(plans: Sequence[StudyPlan]) -> list[WorkloadPlan]:
    """Return each plan with the params in which it differs from others of its name."""
    params_of_plans = [_all_params(plan) for plan in plans]
    return [WorkloadPlan(plan, _distinguishing_params(n, plans, params_of_plans)) for n, plan in enumerate(plans)]


def why_indistinguishable(plans: Sequence[StudyPlan]) -> str | None:
    """Return a sentence naming two workloads that cannot be distinguished; None if there are none."""
    params_of_plans = [_all_params(plan) for plan in plans]
    for index, plan in enumerate(plans):
        for earlier in range(index):
            if plans[earlier].workload == plan.workload and params_of_plans[earlier] == params_of_plans[index]:
                return f"The workloads {plans[earlier].workload_title!r} and {plan.workload_title!r} are identical."
    return None


def _distinguishing_params(
    index: int, plans: Sequence[StudyPlan], params_of_plans: Sequence[Mapping[str, JsonValue]]
) -> dict[str, JsonValue]:
    """Return the params of one plan that differ from those of another plan with the same workload name."""
    workload = plans[index].workload
    siblings = [params for plan, params in zip(plans, params_of_plans, strict=True) if plan.workload == workload]
    return {
        name: value
        for name, value in params_of_plans[index].items()
        if any(params.get(name) != value for params in siblings)
    }


def _all_params(plan: StudyPlan) -> dict[str, JsonValue]:
    """Return the params with defaults; those of an invalid workload as in the file, since the runner reports it."""
    try:
        params = full_params(plan.workload, plan.params)
    except (KeyError, ValidationError):
        params = dict(plan.params)
    return _as_recorded(plan.workload, params)


def _as_recorded(workload: str, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the params as in the load's record, which masks those of an external tool like all imports."""
    if tool_of(workload) is None:
        return dict(params)
    return {name: value for name, value in mask_json(dict(params)).items() if name != MACHINE_PARAM}
