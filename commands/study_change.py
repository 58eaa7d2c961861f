"""The one change allowed in a running study: more arms."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from commands.study_file import ArmText, StudyArm, StudyFileError, StudyPlan, arm_of
from commands.study_vary import MOST_ARMS
from commands.sweep import Axis, read_values, sweep_configs
from commands.write import CommandError
from domain import JsonValue


class Addition(BaseModel):
    """Arms more, read: no text that may hold a secret. `values` are those of the varied setting."""

    model_config = ConfigDict(frozen=True)
    arms: tuple[StudyArm, ...]
    values: tuple[JsonValue, ...] = ()


def with_arm(plan: StudyPlan, given: ArmText) -> StudyPlan:
    """The plan with one arm more; raises StudyFileError."""
    return with_addition(plan, arms_more(plan, [given]))


def with_values(plan: StudyPlan, text: str) -> StudyPlan:
    """The plan of 'value' with these values more, written as on the page Sweep; raises StudyFileError."""
    return with_addition(plan, values_more(plan, text))


def arms_more(plan: StudyPlan, given: Sequence[ArmText]) -> Addition:
    """These arms, read for this plan; raises StudyFileError."""
    if plan.question == "upgrade":
        raise StudyFileError("'upgrade' has two arms, before and after: a third one is another question.")
    if plan.question == "measure":
        raise StudyFileError("'measure' is about one arm: two are held against each other by 'which'.")
    if plan.vary:
        raise StudyFileError("The arms of 'value' are values of a setting: give a value.")
    return Addition(arms=tuple(map(arm_of, given)))


def values_more(plan: StudyPlan, text: str) -> Addition:
    """These values of what the plan varies; raises StudyFileError."""
    if len(plan.vary) != 1:
        raise StudyFileError("Values can be added where one setting is varied.")
    (vary,), first = plan.vary, plan.arms[0]
    try:
        values = read_values(vary.field, text)
        variants = sweep_configs(first.config, [Axis(vary.field, values)])
    except CommandError as error:
        raise StudyFileError(f"The values cannot be tried: {error}") from error
    arms = tuple(first.model_copy(update={"name": one.name, "config": one.config}) for one in variants)
    return Addition(arms=arms, values=tuple(values))


def with_choice(plan: StudyPlan, choice: tuple[int, ...]) -> StudyPlan:
    """The plan with one more of its combinations; raises CommandError for one that no command says."""
    first = plan.arms[0]
    axes = [Axis(one.field, (one.values[place],)) for one, place in zip(plan.vary, choice, strict=True)]
    (made,) = sweep_configs(first.config, axes)
    arm = first.model_copy(update={"name": made.name, "config": made.config, "choice": choice})
    return plan.model_copy(update={"arms": (*plan.arms, arm)})


def is_grown_from(plan: StudyPlan, first: StudyPlan) -> bool:
    """Whether a plan is another one, or that one with arms or values more: added, or proposed."""
    values = [len(one.values) for one in first.vary]
    vary = zip(plan.vary, values, strict=False)
    cut = tuple(one.model_copy(update={"values": list(one.values)[:count]}) for one, count in vary)
    return plan.model_copy(update={"arms": plan.arms[: len(first.arms)], "vary": cut}) == first


def with_addition(plan: StudyPlan, more: Addition) -> StudyPlan:
    """The plan with these arms more; raises StudyFileError."""
    known = {arm.name for arm in plan.arms}
    for arm in more.arms:
        if arm.name in known:
            raise StudyFileError(f"The study has an arm {arm.name!r} already.")
        known.add(arm.name)
    if len(known) > MOST_ARMS:
        raise StudyFileError(f"A study takes {MOST_ARMS} arms at most.")
    vary = tuple(one.model_copy(update={"values": [*one.values, *more.values]}) for one in plan.vary)
    return plan.model_copy(update={"arms": (*plan.arms, *more.arms), "vary": vary})
