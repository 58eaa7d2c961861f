"""What a study's own file does not say: whether this Pitwall has its workloads, and knows its machines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import ValidationError

from commands.study_file import StudyPlan
from domain import JsonValue, WorkloadSpec
from errors import PitwallError
from launcher.remote.hosts import HostBook
from reports.studies.parts import alike
from workloads import REGISTRY, spec_for
from workloads.texts.prompt_file import PlanError

SpecFor = Callable[[str, Mapping[str, JsonValue]], WorkloadSpec]


class UnknownLoadError(PitwallError):
    """The workload of a plan is none, its parameters are not its own, or its prompts cannot be read."""


def check_plan(plan: StudyPlan, book: HostBook) -> None:
    """Raises UnknownLoadError, and HostError for a machine that nobody has added."""
    load_specs(plan.under_each(), spec_for)
    for host in dict.fromkeys(arm.host for arm in plan.arms if arm.host):
        book.host(host)


def load_specs(parts: Sequence[StudyPlan], spec_for: SpecFor) -> list[WorkloadSpec]:
    """The load of each part of a plan, all told apart; raises UnknownLoadError."""
    if same := alike(parts):
        raise UnknownLoadError(same)
    return [_spec(part, spec_for) for part in parts]


def _spec(part: StudyPlan, spec_for: SpecFor) -> WorkloadSpec:
    try:
        return spec_for(part.workload, part.params)
    except KeyError:
        known = ", ".join(REGISTRY)
        raise UnknownLoadError(f"There is no workload {part.workload!r}: it is one of {known}.") from None
    except ValidationError as error:
        place, words = ".".join(map(str, error.errors()[0]["loc"])), error.errors()[0]["msg"]
        raise UnknownLoadError(f"The workload {part.workload} cannot be, {place}: {words}.") from error
    except PlanError as error:
        raise UnknownLoadError(str(error)) from error
