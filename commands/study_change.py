"""What may be changed of a study while it goes on: an arm more."""

from __future__ import annotations

from commands.study_file import MOST_ARMS, ArmText, StudyArm, StudyFileError, StudyPlan, arm_of
from commands.sweep import Axis, read_values, sweep_configs
from commands.write import CommandError


def with_arm(plan: StudyPlan, given: ArmText) -> StudyPlan:
    """The plan with one arm more; raises StudyFileError."""
    if plan.question == "upgrade":
        raise StudyFileError("'upgrade' has two arms, before and after: a third one is another question.")
    if plan.vary:
        raise StudyFileError("The arms of 'value' are values of a setting: give a value.")
    return _with(plan, [arm_of(given)])


def with_values(plan: StudyPlan, text: str) -> StudyPlan:
    """The plan of 'value' with these values more, written as on the page Sweep; raises StudyFileError."""
    if len(plan.vary) != 1:
        raise StudyFileError("Values can be added where one setting is varied.")
    (vary,), first = plan.vary, plan.arms[0]
    try:
        values = read_values(vary.field, text)
        variants = sweep_configs(first.config, [Axis(vary.field, values)])
    except CommandError as error:
        raise StudyFileError(f"The values cannot be tried: {error}") from error
    arms = [StudyArm(name=one.name, config=one.config, base_url=first.base_url) for one in variants]
    longer = vary.model_copy(update={"values": [*vary.values, *values]})
    return _with(plan, arms).model_copy(update={"vary": (longer,)})


def _with(plan: StudyPlan, arms: list[StudyArm]) -> StudyPlan:
    known = {arm.name for arm in plan.arms}
    if twice := [arm.name for arm in arms if arm.name in known]:
        raise StudyFileError(f"The study has an arm {twice[0]!r} already.")
    if len(plan.arms) + len(arms) > MOST_ARMS:
        raise StudyFileError(f"A study takes {MOST_ARMS} arms at most.")
    return plan.model_copy(update={"arms": (*plan.arms, *arms)})
