"""Checks a study's plan against this installation: its workloads and machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import ValidationError

from commands.study_file import StudyPlan
from domain import JsonValue, WorkloadSpec
from errors import PitwallError
from launcher.remote.hosts import HostBook
from load_records import FIDELITY
from reports.studies.parts import why_indistinguishable
from workloads import REGISTRY, spec_for
from workloads.texts.prompt_file import PlanError

SpecFor = Callable[[str, Mapping[str, JsonValue]], WorkloadSpec]


class UnknownLoadError(PitwallError):
    """A plan has an unknown workload, invalid parameters or unreadable prompts."""


def check_plan(plan: StudyPlan, book: HostBook) -> None:
    """Raise UnknownLoadError for an invalid workload, and HostError for an unknown machine."""
    load_specs(plan.per_workload(), spec_for)
    required_specs(plan, spec_for)
    for host in dict.fromkeys(arm.host for arm in plan.arms if arm.host):
        book.find(host)


def load_specs(parts: Sequence[StudyPlan], spec_for: SpecFor) -> list[WorkloadSpec]:
    """Return the workload spec of each part of a plan; raises UnknownLoadError for invalid or identical workloads."""
    if duplicates := why_indistinguishable(parts):
        raise UnknownLoadError(duplicates)
    return [_spec(part.workload, part.params, spec_for) for part in parts]


def required_specs(plan: StudyPlan, spec_for: SpecFor) -> list[WorkloadSpec]:
    """Return the loads that measure what the plan requires of answers; raises UnknownLoadError for invalid ones."""
    return [_spec(FIDELITY, requirement.params, spec_for) for requirement in plan.require]


def _spec(workload: str, params: Mapping[str, JsonValue], spec_for: SpecFor) -> WorkloadSpec:
    try:
        return spec_for(workload, params)
    except KeyError:
        names = ", ".join(REGISTRY)
        raise UnknownLoadError(f"There is no workload {workload!r}; the workloads are {names}.") from None
    except ValidationError as error:
        location, message = ".".join(map(str, error.errors()[0]["loc"])), error.errors()[0]["msg"]
        raise UnknownLoadError(f"The workload {workload} is invalid: {location}: {message}.") from error
    except PlanError as error:
        raise UnknownLoadError(str(error)) from error
