"""Pairs of one configuration on the shipped workloads: none refused, and hardly ever told apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from analysis.compare_arms import ArmComparison, compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.verdict import VerdictAnswer
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats

WORKLOADS = ("five-prompts", "ladder", "demo-stream")
STEPS_S = (0.009, 0.025)
DRAFTS = (0, 4)
CELLS = list(itertools.product(WORKLOADS, STEPS_S, DRAFTS))
CLAIMS = (VerdictAnswer.BETTER, VerdictAnswer.WORSE, VerdictAnswer.DIFFERENT)
PAIRS, REPEATS = 120, 3


def answers(workload: str, step_s: float, drafts: int, seed: int, pairs: int) -> list[ArmComparison]:
    """Each pair is two arms of three starts of one engine; a start differs from the next by 1 %."""
    rng = np.random.default_rng(seed)
    engine = IdealEngine(step_s, drafts=drafts, start_sd=0.01)
    found = []
    for _ in range(pairs):
        runs = repeats(engine, workload, 2 * REPEATS, rng)
        arms = [Arm(arm_key(runs[0]), tuple(side)) for side in (runs[:REPEATS], runs[REPEATS:])]
        found += compare_arms(arms)
    return found


@pytest.mark.parametrize(("workload", "step_s", "drafts"), CELLS)
def test_none_is_refused(workload: str, step_s: float, drafts: int) -> None:
    for answer in answers(workload, step_s, drafts, seed=3, pairs=3):
        assert not answer.refused, [row.code for row in answer.refused]
        assert answer.judgement and answer.factors


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("workload", "step_s", "drafts"), CELLS)
def test_at_most_one_in_twenty_is_told_apart(
    workload: str, step_s: float, drafts: int, record_property: Callable[[str, object], None]
) -> None:
    """Over ten seeds of 120 pairs; `--junitxml` keeps how many were told apart."""
    found = [a for seed in range(10) for a in answers(workload, step_s, drafts, seed, PAIRS)]
    assert not any(answer.refused for answer in found)
    claimed = sum(answer.judgement.answer in CLAIMS for answer in found if answer.judgement)
    record_property("told apart", f"{claimed} of {len(found)}")
    assert claimed <= 0.05 * len(found), f"{claimed} of {len(found)}"
