"""One arm of an identical pair is disturbed by other work of its host: it is refused or not known, hardly ever told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.compare_arms import ArmComparison, compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.guard import RowCode
from analysis.runs.conditions import Conditions
from analysis.verdict import VerdictAnswer
from tests.analysis.comparison.ideal_engine import Bursts, IdealEngine, repeats

REPEATS = 3
CLAIMS = (VerdictAnswer.BETTER, VerdictAnswer.WORSE, VerdictAnswer.DIFFERENT)
CALM = IdealEngine(0.02, start_sd=0.01)
DISTURBED = replace(CALM, bursts=Bursts(share=(0.2, 0.9), slowdown=(2.0, 4.0)))
SMALL = [("five-prompts", {"token_scale": 0.1}), ("ladder", {"tokens": 32})]


PART_OF_THE_TIME = [  # each start draws its own share and slowdown, or has the same as the others of its arm
    Bursts((0.0, 0.03), (2.0, 4.0)),
    Bursts((0.0, 0.1), (2.0, 4.0)),
    Bursts((0.0, 0.2), (2.0, 4.0)),
    Bursts((0.03, 0.03), (3.0, 3.0)),
    Bursts((0.05, 0.05), (2.0, 2.0)),
    Bursts((0.1, 0.1), (2.0, 2.0)),
]


def pairs(workload: str, count: int, seed: int, noise: Bursts | None = None, **params: object) -> list[ArmComparison]:
    """The disturbed arm is now the baseline and now the other one."""
    disturbed = replace(CALM, bursts=noise) if noise else DISTURBED
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        quiet = repeats(CALM, workload, REPEATS, rng, **params)
        quiet = [replace(run, conditions=(Conditions(run.run_id, starvation_ratio=0.01),)) for run in quiet]
        noisy = repeats(disturbed, workload, REPEATS, rng, **params)
        sides = [Arm(arm_key(side[0]), tuple(side)) for side in (quiet, noisy)]
        found += compare_arms(sides[:: 1 if number % 2 else -1])
    return found


def claims(comparisons: list[ArmComparison]) -> int:
    return sum(
        comparison.is_ranked and comparison.judgement is not None and comparison.judgement.answer in CLAIMS
        for comparison in comparisons
    )


@pytest.mark.parametrize(("workload", "params"), SMALL)
def test_a_disturbed_arm_is_refused_or_not_known(workload: str, params: dict[str, object]) -> None:
    actual_pairs = pairs(workload, 20, 5, **params)
    assert claims(actual_pairs) <= 0.05 * len(actual_pairs)
    assert any(row.code is RowCode.STARVATION for actual_pair in actual_pairs for row in actual_pair.refused)
    ratios = [actual_pair.judgement.ratio for actual_pair in actual_pairs if actual_pair.judgement]
    assert min(ratios) < 0.7 or max(ratios) > 1.4, "by their numbers alone they are far apart"


def test_steady_burner_shows_in_waits() -> None:
    """The same in each start of one arm: without the waits two of five such pairs would be told apart."""
    actual_pairs = pairs("five-prompts", 40, 5, PART_OF_THE_TIME[-1], token_scale=0.1)
    assert claims(actual_pairs) <= 0.05 * len(actual_pairs)
    explained = [row for actual_pair in actual_pairs for row in actual_pair.refused if row.values.get("may_explain")]
    assert len(explained) >= 5 and {row.code for row in explained} == {RowCode.STARVATION}
    assert any(actual_pair.is_ranked for actual_pair in actual_pairs), "and what is not told apart is not refused"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("noise", PART_OF_THE_TIME)
def test_intermittent_noise_rarely_splits_pairs(noise: Bursts) -> None:
    actual_pairs = [pair for seed in range(4) for pair in pairs("five-prompts", 60, seed, noise, token_scale=0.1)]
    assert claims(actual_pairs) <= 0.05 * len(actual_pairs)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("workload", ["five-prompts", "ladder"])
def test_disturbed_pairs_rarely_differ(workload: str) -> None:
    actual_pairs = [pair for seed in range(5) for pair in pairs(workload, 60, seed)]
    assert claims(actual_pairs) <= 0.05 * len(actual_pairs)
