"""The only change allowed in a running study: additional arms."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from commands.study_file import ArmText, StudyArm, StudyFileError, StudyPlan, arm_of
from commands.study_vary import MOST_ARMS
from commands.sweep import Axis, read_values, sweep_configs
from commands.write import CommandError
from domain import JsonValue


class Addition(BaseModel):
    """Parsed additional arms, without text that may contain secrets. `values`: those of the varied setting."""

    model_config = ConfigDict(frozen=True)
    arms: tuple[StudyArm, ...]
    values: tuple[JsonValue, ...] = ()


def with_arm(plan: StudyPlan, arm_text: ArmText) -> StudyPlan:
    """Return the plan with one more arm; raises StudyFileError."""
    return with_addition(plan, read_added_arms(plan, [arm_text]))


def with_values(plan: StudyPlan, text: str) -> StudyPlan:
    """Return a 'value' plan with more values, written as on the page Sweep; raises StudyFileError."""
    return with_addition(plan, read_added_values(plan, text))


def read_added_arms(plan: StudyPlan, arm_texts: Sequence[ArmText]) -> Addition:
    """Read additional arms for this plan; raises StudyFileError."""
    if plan.question == "upgrade":
        raise StudyFileError("'upgrade' has exactly two arms, before and after.")
    if plan.question == "measure":
        raise StudyFileError("'measure' has one arm; use 'which' to compare two.")
    if plan.vary:
        raise StudyFileError("The arms of 'value' are values of a setting: add a value instead.")
    return Addition(arms=tuple(map(arm_of, arm_texts)))


def read_added_values(plan: StudyPlan, text: str) -> Addition:
    """Read additional values of the varied setting; raises StudyFileError."""
    if len(plan.vary) != 1:
        raise StudyFileError("Values can be added only if a single setting is varied.")
    (vary,), first = plan.vary, plan.arms[0]
    try:
        values = read_values(vary.field, text)
        variants = sweep_configs(first.config, [Axis(vary.field, values)])
    except CommandError as error:
        raise StudyFileError(f"The values cannot be tried: {error}") from error
    arms = tuple(first.model_copy(update={"name": variant.name, "config": variant.config}) for variant in variants)
    return Addition(arms=arms, values=tuple(values))


def with_choice(plan: StudyPlan, choice: tuple[int, ...]) -> StudyPlan:
    """Return the plan with one more combination; raises CommandError if no command can express it."""
    first = plan.arms[0]
    axes = [Axis(setting.field, (setting.values[index],)) for setting, index in zip(plan.vary, choice, strict=True)]
    (variant,) = sweep_configs(first.config, axes)
    arm = first.model_copy(update={"name": variant.name, "config": variant.config, "choice": choice})
    return plan.model_copy(update={"arms": (*plan.arms, arm)})


def is_grown_from(plan: StudyPlan, first: StudyPlan) -> bool:
    """Whether a plan equals the first one apart from added or proposed arms and values."""
    values = [len(setting.values) for setting in first.vary]
    vary = zip(plan.vary, values, strict=False)
    cut = tuple(setting.model_copy(update={"values": list(setting.values)[:count]}) for setting, count in vary)
    return plan.model_copy(update={"arms": plan.arms[: len(first.arms)], "vary": cut}) == first


def with_addition(plan: StudyPlan, addition: Addition) -> StudyPlan:
    """Return the plan with these additional arms; raises StudyFileError."""
    names = {arm.name for arm in plan.arms}
    for arm in addition.arms:
        if arm.name in names:
            raise StudyFileError(f"The study already has an arm {arm.name!r}.")
        names.add(arm.name)
    if len(names) > MOST_ARMS:
        raise StudyFileError(f"A study can have at most {MOST_ARMS} arms.")
    vary = tuple(setting.model_copy(update={"values": [*setting.values, *addition.values]}) for setting in plan.vary)
    return plan.model_copy(update={"arms": (*plan.arms, *addition.arms), "vary": vary})
