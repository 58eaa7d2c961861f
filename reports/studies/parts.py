"""Which loads of a server start are those of a study's workload, where others of the same name stand beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from analysis.comparison.workload import has_params
from commands.study_file import StudyPlan
from domain import JsonValue, WorkloadSpec
from load_records import DRIVEN, Load
from redaction import mask_json
from workloads import full_params
from workloads.process.driven import tool_of

OF_THE_MACHINE = "executable"  # where a tool lies, which is not recorded as what was asked


@dataclass(frozen=True, slots=True)
class Part:
    """A study's plan for one of its workloads; `params` are those that differ from others of its name, in full."""

    plan: StudyPlan
    params: Mapping[str, JsonValue] = field(default_factory=dict)

    def is_asked_by(self, spec: WorkloadSpec) -> bool:
        """Whether a run was launched to carry it."""
        return spec.name == self.plan.workload and has_params(_recorded(spec.name, spec.params), self.params)

    def is_of_tool(self, load: Load) -> bool:
        """Whether what another tool left is of it."""
        tool, asked = tool_of(self.plan.workload), load.params.get(DRIVEN)
        if tool is None or load.tool != tool.name or (asked is None and self.params):
            return False
        return has_params(full_params(tool.workload, {OF_THE_MACHINE: "-", **(asked or {})}), self.params)


def parts_of(parts: Sequence[StudyPlan]) -> list[Part]:
    """Each part with the params in which it differs from others of its name."""
    full = [_in_full(part) for part in parts]
    return [Part(part, _own(at, parts, full)) for at, part in enumerate(parts)]


def alike(parts: Sequence[StudyPlan]) -> str | None:
    """Why two workloads cannot be distinguished, as a sentence; None where all can."""
    full = [_in_full(part) for part in parts]
    for at, part in enumerate(parts):
        for before in range(at):
            if parts[before].workload == part.workload and full[before] == full[at]:
                return f"The workloads {parts[before].workload_title!r} and {part.workload_title!r} ask for the same."
    return None


def _own(at: int, parts: Sequence[StudyPlan], full: Sequence[Mapping[str, JsonValue]]) -> dict[str, JsonValue]:
    others = [one for part, one in zip(parts, full, strict=True) if part.workload == parts[at].workload]
    return {name: value for name, value in full[at].items() if any(one.get(name) != value for one in others)}


def _in_full(part: StudyPlan) -> dict[str, JsonValue]:
    """With the defaults; as the file says them of a workload that cannot be, which the runner reports."""
    try:
        params = full_params(part.workload, part.params)
    except (KeyError, ValidationError):
        params = dict(part.params)
    return _recorded(part.workload, params)


def _recorded(workload: str, params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """As the load's record has them: what is asked of another tool is masked there, like all that is imported."""
    if tool_of(workload) is None:
        return dict(params)
    return {name: value for name, value in mask_json(dict(params)).items() if name != OF_THE_MACHINE}
