"""Promises of the verdict, checked by simulated repeats with a known truth. `make soak` runs the long version."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from itertools import product

import numpy as np
import pytest

from analysis.verdict import VerdictAnswer, judge
from benchmarks.simulations.planned_repeats import half_width, repeats_for_same
from benchmarks.simulations.verdict_simulation import (
    EQUAL,
    NOISES,
    UNEQUAL,
    Noise,
    TrialIntervals,
    arms,
    coverage_cells,
    joint_coverage,
    log_replicates,
    noise_of,
    pooled_coverage,
    power_cells,
    same_power,
    two_sides,
    typical_half_width,
)

QUICK_NOISES = [Noise(0.03, 0.5, 40, 0.02), Noise(0.5, 0.8, 6, 0.0), Noise(0.1, 0.3, 6, 0.03)]
QUICK, LONG = 4000, 10_000
CHANCE = 0.012  # three standard errors of a coverage of 95 % seen in 4,000 trials


@cache
def quick_cells() -> list[tuple[float, tuple[int, int], TrialIntervals]]:
    return [(sd_ratio, repeats, judged) for _, sd_ratio, repeats, judged in coverage_cells(QUICK, QUICK_NOISES)]


@pytest.mark.wide
def test_every_cell_covers() -> None:
    low = {
        (quick_cell[:2]): quick_cell[2].covered().mean()
        for quick_cell in quick_cells()
        if quick_cell[2].covered().mean() < 0.94 - CHANCE
    }
    assert not low


@pytest.mark.wide
def test_intervals_of_five_repeats_not_too_wide() -> None:
    assert all(judged.covered().mean() <= 0.97 for _, repeats, judged in quick_cells() if repeats == (5, 5))


def test_false_claims_are_rare() -> None:
    for _, _, judged in quick_cells():
        assert judged.beyond(1.0).mean() <= 0.05
        assert judged.better(1.02).mean() <= 0.025 + CHANCE
        assert judged.same(1.02).mean() <= 0.05 + CHANCE


def test_true_differences_are_told() -> None:
    worst = defaultdict(lambda: 1.0)
    for claim, repeats, _, told in power_cells(QUICK):
        worst[claim, repeats] = min(told, worst[claim, repeats])
    assert worst["better at 1.1", 3] >= 0.80
    assert worst["better at 1.3", 3] >= 0.99
    assert worst["better at 1.5", 2] >= 0.95


@pytest.mark.wide
def test_intervals_of_several_arms_cover_jointly() -> None:
    for seed, (count, repeats, noisy) in enumerate(product((2, 4, 8), (2, 3, 5), (None, 0, 1))):
        assert joint_coverage(arms(seed, count, repeats, noisy, QUICK)) >= 0.94 - CHANCE


def test_pooled_spread_misses_a_noisier_arm() -> None:
    """Why there is none: it holds for like arms alone."""
    alike, noisy = (pooled_coverage(arms(3, 4, 3, one, QUICK)) for one in (None, 1))
    assert alike > 0.94 > 0.90 > noisy
    assert pooled_coverage(arms(3, 2, 2, 1, QUICK), earlier_df=12) < 0.80


def test_earlier_repeats_of_the_same_spread_cover() -> None:
    assert pooled_coverage(arms(4, 2, 1, None, QUICK), earlier_df=6) >= 0.94


def test_planned_repeats_reach_planned_power() -> None:
    needed = repeats_for_same(0.02)
    assert needed is not None
    assert 0.78 <= same_power(needed, QUICK) <= 0.86


@pytest.mark.wide
@pytest.mark.parametrize(("repeats", "tolerance"), [(3, 0.15), (5, 0.10), (20, 0.05)])
def test_the_half_width_before_a_start_is_typical(repeats: int, tolerance: float) -> None:
    """At two repeats the intervals' widths differ so much that none is typical: there it errs to the wide side."""
    assert half_width(0.02, repeats) == pytest.approx(typical_half_width(repeats, QUICK), rel=tolerance)
    assert typical_half_width(2, QUICK) < half_width(0.02, 2) < 1.4 * typical_half_width(2, QUICK)


@pytest.mark.parametrize("repeats", [*EQUAL, *UNEQUAL])
def test_array_copy_judges_like_the_product(repeats: tuple[int, int]) -> None:
    a, b = two_sides(1, Noise(0.1, 0.5, 20, 0.01), 1.0, 25)
    a, b = a[:, : repeats[0]], b[:, : repeats[1]] + math.log(1.05)
    copy = TrialIntervals.of(a, b)
    for trial, found in enumerate(judge(np.exp(x), np.exp(y)) for x, y in zip(a, b, strict=True)):
        middle, half, half_same = copy.log_ratio[trial], copy.half[trial], copy.half_same[trial]
        assert np.log(found.interval) == pytest.approx([middle - half, middle + half], abs=1e-6)
        assert np.log(found.equivalence) == pytest.approx([middle - half_same, middle + half_same], abs=1e-6)
        assert (found.answer in (VerdictAnswer.BETTER, VerdictAnswer.WORSE)) == copy.beyond(1.0)[trial]
        assert (found.answer is VerdictAnswer.BETTER) == copy.better(1.0)[trial]


def test_array_copy_finds_same_like_the_product() -> None:
    a, b = 0.012 * np.random.default_rng(2).standard_normal((2, 60, 4))
    told = [judge(np.exp(x), np.exp(y)).answer is VerdictAnswer.SAME for x, y in zip(a, b, strict=True)]
    assert told == list(TrialIntervals.of(a, b).same(1.0))
    assert 10 < sum(told) < 60


def test_array_copy_judges_arms_like_the_product() -> None:
    for trial in arms(8, 5, 3, 2, 20):
        copies = [TrialIntervals.of(trial[0], one, comparisons=4) for one in trial[1:]]
        judgements = [judge(np.exp(trial[0]), np.exp(arm), comparisons=4) for arm in trial[1:]]
        for judgement, copy in zip(judgements, copies, strict=True):
            half = math.log(judgement.interval[1] / judgement.interval[0]) / 2
            assert half == pytest.approx(copy.half, rel=1e-5)


def test_simulated_windows_have_stated_noise() -> None:
    rng = np.random.default_rng(3)
    single = np.exp(log_replicates(rng, Noise(0.5, 0.8, 1, 0.0), (100_000,)))
    assert single.mean() == pytest.approx(1.0, abs=0.01)
    assert single.std() == pytest.approx(0.5, abs=0.02)
    for lag1, windows in ((0.3, 6), (0.8, 40)):
        assert log_replicates(rng, noise_of(0.02, lag1, windows), (40_000,)).std() == pytest.approx(0.02, rel=0.02)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_promises_hold_in_ten_thousand_trials() -> None:
    for noise, sd_ratio, repeats, judged in coverage_cells(LONG, NOISES):
        covered = judged.covered().mean()
        assert covered >= 0.94, (noise, sd_ratio, repeats)
        assert repeats != (5, 5) or covered <= 0.97, (noise, sd_ratio)
        assert judged.beyond(1.0).mean() <= 0.05, (noise, sd_ratio, repeats)
        assert judged.better(1.02).mean() <= 0.05, (noise, sd_ratio, repeats)


@pytest.mark.slow
def test_several_arms_hold_in_ten_thousand_trials() -> None:
    for seed, (count, repeats, noisy) in enumerate(product((2, 3, 4, 8), (2, 3, 5), (None, 0, 1))):
        assert joint_coverage(arms(seed, count, repeats, noisy, LONG)) >= 0.94, (count, repeats, noisy)


@pytest.mark.slow
def test_power_in_ten_thousand_trials_a_cell() -> None:
    demanded = {("better at 1.1", 3): 0.80, ("better at 1.3", 3): 0.99, ("better at 1.5", 2): 0.95}
    for claim, repeats, noise, told in power_cells(LONG):
        assert told >= demanded.get((claim, repeats), 0.0), (claim, repeats, noise)
