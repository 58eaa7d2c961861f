"""Each answer from replicates' values, with the intervals checked by scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from analysis.verdict import (
    EarlierSpread,
    Judgement,
    VerdictAnswer,
    interval_of_ratio,
    judge,
    pool_earlier_spread,
)
from tests.analysis.verdict.sides import around

BASELINE = [100.0, 102.0, 99.0]
FASTER = [110.0, 109.0, 114.0]
SPEEDS_5 = [101.0, 99.0, 100.5, 99.7, 100.1]


def welch(a: list[float], b: list[float], level: float) -> tuple[float, float]:
    """scipy's interval of the ratio b over a."""
    ci = scipy.stats.ttest_ind(np.log(b), np.log(a), equal_var=False).confidence_interval(level)
    return math.exp(ci.low), math.exp(ci.high)


def test_the_interval_is_welchs_on_logs() -> None:
    found = judge(BASELINE, FASTER)
    oracle = scipy.stats.ttest_ind(np.log(FASTER), np.log(BASELINE), equal_var=False)
    assert found.ratio == pytest.approx(scipy.stats.gmean(FASTER) / scipy.stats.gmean(BASELINE), rel=1e-12)
    assert found.interval == pytest.approx(welch(BASELINE, FASTER, 0.95), rel=1e-10)
    assert found.equivalence == pytest.approx(welch(BASELINE, FASTER, 0.90), rel=1e-10)
    assert found.df == pytest.approx(oracle.df, rel=1e-12)
    variances = [np.log(side).var(ddof=1) for side in (BASELINE, FASTER)]
    assert found.sd_log == pytest.approx(math.sqrt(np.mean(variances)), rel=1e-12)
    assert (found.replicates, found.sd_source, found.more_repeats) == ((3, 3), "own", None)


def test_unequal_repeats_take_each_sides_own_t() -> None:
    few, many = BASELINE[:2], SPEEDS_5
    parts = [np.log(side).var(ddof=1) / len(side) for side in (few, many)]
    t = np.dot(parts, scipy.stats.t.ppf(0.975, [1, 4])) / sum(parts)
    middle = math.log(scipy.stats.gmean(many) / scipy.stats.gmean(few))
    half = t * math.sqrt(sum(parts))
    assert judge(few, many).interval == pytest.approx((math.exp(middle - half), math.exp(middle + half)), rel=1e-10)
    assert judge(few, many).df == pytest.approx(scipy.stats.ttest_ind(np.log(few), np.log(many), equal_var=False).df)
    assert judge(few, many).replicates == (2, 5)


@pytest.mark.parametrize(
    ("ratio", "sd", "n", "answer"),
    [
        (1.10, 0.01, 3, VerdictAnswer.BETTER),
        (0.90, 0.01, 3, VerdictAnswer.WORSE),
        (1.04, 0.01, 3, VerdictAnswer.DIFFERENT),
        (0.96, 0.01, 3, VerdictAnswer.DIFFERENT),
        (1.00, 0.01, 10, VerdictAnswer.SAME),
        (1.01, 0.002, 5, VerdictAnswer.SAME),  # shown to differ, and by less than matters
        (1.00, 0.02, 3, VerdictAnswer.UNKNOWN),
        (1.03, 0.02, 3, VerdictAnswer.UNKNOWN),
    ],
)
def test_each_answer(ratio: float, sd: float, n: int, answer: VerdictAnswer) -> None:
    baseline, other = around(1.0, sd, n), around(ratio, sd, n)
    assert judge(baseline, other).answer is answer
    opposite = {VerdictAnswer.BETTER: VerdictAnswer.WORSE, VerdictAnswer.WORSE: VerdictAnswer.BETTER}
    assert judge(baseline, other, higher_is_better=False).answer is opposite.get(answer, answer)
    assert (judge(baseline, other).more_repeats is None) == (
        answer in (VerdictAnswer.BETTER, VerdictAnswer.WORSE, VerdictAnswer.SAME)
    )


def test_the_margin_decides_what_matters() -> None:
    baseline, other = around(1.0, 0.01, 5), around(1.05, 0.01, 5)
    assert judge(baseline, other, margin=0.02).answer is VerdictAnswer.BETTER
    assert judge(baseline, other, margin=0.05).answer is VerdictAnswer.DIFFERENT
    assert judge(baseline, other, margin=0.10).answer is VerdictAnswer.SAME


@pytest.mark.parametrize("up", [True, False])
def test_different_beyond_margin_same_within(up: bool) -> None:
    """Just beyond and just short of it, on both sides of 1."""
    baseline, sd = around(1.0, 0.01, 5), 0.01
    half = {level: scipy.stats.t.ppf(level, 8) * sd * math.sqrt(2 / 5) for level in (0.975, 0.95)}

    def answer(log_ratio: float, margin: float = 0.03) -> VerdictAnswer:
        return judge(baseline, around(math.exp(log_ratio if up else -log_ratio), sd, 5), margin=margin).answer

    limit = math.log(1.03)
    assert answer(limit + half[0.975] + 1e-6) is (VerdictAnswer.BETTER if up else VerdictAnswer.WORSE)
    assert answer(limit + half[0.975] - 1e-6) is VerdictAnswer.DIFFERENT
    assert answer(limit - half[0.95] - 1e-6) is VerdictAnswer.SAME
    assert answer(limit - half[0.95] + 1e-6) is not VerdictAnswer.SAME
    assert answer(half[0.975] + 1e-6, margin=0.001) is VerdictAnswer.DIFFERENT
    assert answer(half[0.975] - 1e-6, margin=0.001) is VerdictAnswer.UNKNOWN


def test_comparisons_widen_both_intervals() -> None:
    found = judge(BASELINE, FASTER, comparisons=5)
    assert found.interval == pytest.approx(welch(BASELINE, FASTER, 0.99), rel=1e-10)
    assert found.equivalence == pytest.approx(welch(BASELINE, FASTER, 0.98), rel=1e-10)


def test_arms_judged_with_bonferroni_intervals() -> None:
    judgements = [judge(BASELINE, arm, comparisons=3) for arm in (FASTER, SPEEDS_5, [104.0])]
    assert [judgement.answer for judgement in judgements] == [
        VerdictAnswer.BETTER,
        VerdictAnswer.UNKNOWN,
        VerdictAnswer.SEEN_ONCE,
    ]


def test_arms_are_judged_by_what_was_asked() -> None:
    earlier = EarlierSpread(0.001, 10)
    judgements = [
        judge([1.0], [value], higher_is_better=False, margin=0.1, comparisons=2, earlier=earlier)
        for value in (1.2, 1.05)
    ]
    assert [judgement.answer for judgement in judgements] == [VerdictAnswer.WORSE, VerdictAnswer.SAME]


def test_one_replicate_is_a_ratio_and_no_claim() -> None:
    for baseline, other in (([50.0], [100.0]), ([50.0], [100.0, 100.0]), ([50.0, 50.0], [100.0])):
        found = judge(baseline, other)
        assert found == Judgement(VerdictAnswer.SEEN_ONCE, found.ratio, replicates=(len(baseline), len(other)))
        assert found.ratio == pytest.approx(2.0)


def test_identical_values_have_no_spread() -> None:
    found = judge([3.0, 3.0, 3.0], [3.1, 3.1, 3.1])
    assert found == Judgement(VerdictAnswer.UNKNOWN, found.ratio, replicates=(3, 3))
    assert found.ratio == pytest.approx(3.1 / 3)
    assert judge([3.0, 3.0, 3.0], BASELINE).interval is None
    for rounding in ([0.1 + 0.2, 0.3], [1.0, 1.0 + 1e-10]):
        assert judge(rounding, BASELINE).interval is None
    assert judge([1.0, 1.0 + 4e-9], BASELINE).interval is not None


def test_earlier_repeats_serve_two_single_sides() -> None:
    found = judge([100.0], [110.0], earlier=EarlierSpread(0.02, 6))
    half = scipy.stats.t.ppf(0.975, 6) * 0.02 * math.sqrt(2)
    assert found.interval == pytest.approx((1.1 * math.exp(-half), 1.1 * math.exp(half)), rel=1e-10)
    assert (found.df, found.sd_source) == (pytest.approx(6), "earlier")
    assert found.sd_log == pytest.approx(0.02)
    assert (found.answer, found.replicates) == (VerdictAnswer.BETTER, (1, 1))


def test_earlier_repeats_serve_spreadless_side() -> None:
    earlier = EarlierSpread(0.02, 6)
    assert judge(BASELINE, FASTER, earlier=earlier) == judge(BASELINE, FASTER)
    found = judge(BASELINE, [110.0], earlier=earlier)
    own = np.log(BASELINE).var(ddof=1)
    parts = (own / 3, 0.02**2)
    half = np.dot(parts, scipy.stats.t.ppf(0.975, [2, 6])) / math.sqrt(sum(parts))
    middle = math.log(110 / scipy.stats.gmean(BASELINE))
    assert found.interval == pytest.approx((math.exp(middle - half), math.exp(middle + half)), rel=1e-10)
    assert found.sd_log == pytest.approx(math.sqrt((own + 0.02**2) / 2))
    assert found.sd_source == "earlier"
    assert judge([110.0], BASELINE, earlier=earlier).sd_source == "earlier"
    assert judge([3.0, 3.0], [3.0, 3.0], earlier=earlier).sd_source == "earlier"


def test_too_few_earlier_repeats_do_not_serve() -> None:
    assert judge([100.0], [110.0], earlier=EarlierSpread(0.02, 0.5)).answer is VerdictAnswer.SEEN_ONCE
    assert judge([100.0], [110.0], earlier=EarlierSpread(0.02, 5.9)).answer is VerdictAnswer.SEEN_ONCE


def test_earlier_repeats_grouped_by_config() -> None:
    groups = [[100.0, 102.0, 99.0], [200.0, 207.0], [50.0], [7.0, 7.0]]
    variances = [np.log(group).var(ddof=1) for group in groups[:2]]
    actual_pool_earlier_spread = pool_earlier_spread(groups)
    assert actual_pool_earlier_spread is not None
    assert actual_pool_earlier_spread.sd_log == pytest.approx(math.sqrt((2 * variances[0] + variances[1]) / 3))
    assert actual_pool_earlier_spread.df == 3
    assert pool_earlier_spread([[50.0], [7.0, 7.0]]) is None


def test_interval_alone_matches_the_judgement() -> None:
    assert interval_of_ratio(BASELINE, FASTER) == judge(BASELINE, FASTER).interval
    assert interval_of_ratio(BASELINE, FASTER, 0.90) == judge(BASELINE, FASTER).equivalence
    assert interval_of_ratio([1.0], FASTER) is None
    assert interval_of_ratio(FASTER, [1.0]) is None


def test_ratio_beyond_float_is_infinite() -> None:
    found = judge([1e-300, 1e300], [1.0, 2.0])
    assert found.interval == (0.0, math.inf)
    assert judge([1e-300], [1e300]).ratio == math.inf
    assert judge([1.0], [1e300]).ratio == pytest.approx(1e300)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_value_without_measurement_is_refused(value: float) -> None:
    for sides in (([value, 1.0], BASELINE), (BASELINE, [1.0, value])):
        with pytest.raises(ValueError, match=rf"^A replicate's value must be positive and finite, not {value}\.$"):
            judge(*sides)


def test_a_side_without_replicates_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^A side of a comparison needs at least one replicate\.$"):
        judge([], BASELINE)


@pytest.mark.parametrize(("margin", "comparisons"), [(0.0, 1), (-0.1, 1), (math.nan, 1), (math.inf, 1), (0.02, 0)])
def test_rules_that_cannot_be_are_refused(margin: float, comparisons: int) -> None:
    with pytest.raises(ValueError, match=r"^Judging needs a positive margin and a comparison, not .* and .*\.$"):
        judge(BASELINE, FASTER, margin=margin, comparisons=comparisons)


@pytest.mark.parametrize(
    ("sd", "df"), [(0.0, 6.0), (-1.0, 6.0), (math.inf, 6.0), (0.1, 0.0), (0.1, math.nan), (0.1, math.inf)]
)
def test_impossible_earlier_repeats_are_refused(sd: float, df: float) -> None:
    with pytest.raises(ValueError, match=r"^Earlier repeats need a positive sd and df, not .* and .*\.$"):
        EarlierSpread(sd, df)
