"""The probable cost of a study: server starts from its plan, minutes from earlier runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from analysis.study import ArmState, Race, Seat, StartsLeft, starts_left
from analysis.study.explore import FINALISTS
from analysis.study.race import MIN_STARTS
from commands.study_file import StudyPlan
from commands.sweep import estimate
from domain import Run


class StudyCost(NamedTuple):
    """The fewest and the most server starts, and the mean duration of one; None if no run tells."""

    starts: StartsLeft
    start_s: float | None
    basis: str  # of the duration


def expected_cost(plan: StudyPlan, earlier: Sequence[Run]) -> StudyCost:
    """Return the cost of a plan before its first start; earlier: runs whose durations are known."""
    names = ", ".join(part.workload for part in plan.per_workload())
    estimates = [estimate(1, names, earlier, arm.config) for arm in plan.arms]
    seconds = [arm_estimate.seconds for arm_estimate in estimates if arm_estimate.seconds is not None]
    is_estimated = len(seconds) == len(estimates)
    bases = dict.fromkeys(arm_estimate.basis for arm_estimate in estimates)
    return StudyCost(_expected_starts(plan), fmean(seconds) if is_estimated else None, "; ".join(bases))


def _expected_starts(plan: StudyPlan) -> StartsLeft:
    budget = plan.budget
    if plan.question == "measure":
        count = min(budget.rounds, budget.runs)
        return StartsLeft(count, count)
    if plan.is_proposed:
        return StartsLeft(min(budget.runs, plan.trials + MIN_STARTS * FINALISTS), budget.runs)
    names = tuple(arm.name for arm in plan.arms)
    unstarted = Race(tuple(Seat(name, 0, ArmState.RACING) for name in names), names)
    return starts_left(unstarted, dict.fromkeys(names, ()), plan.margin, budget.rounds, budget.runs)
