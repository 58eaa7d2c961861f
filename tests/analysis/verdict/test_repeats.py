"""What a number of repeats will show, and how many a claim takes."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from analysis.verdict import EarlierSpread, VerdictAnswer, half_width, judge, repeats_for_same
from tests.analysis.verdict.sides import around

LIMIT = math.log(1.02)


def planned(sd: float, n: int) -> tuple[float, float]:
    """Standard error and expected degrees of freedom of two like arms: E of b**2 + (1 - b)**2, b a beta variable."""
    share = stats.beta((n - 1) / 2, (n - 1) / 2)
    return sd * math.sqrt(2 / n), (n - 1) / (2 * share.moment(2))


def chance(room: float, sd: float, n: int, level: float) -> float:
    error, df = planned(sd, n)
    return float(stats.t.cdf(room / error - stats.t.ppf((1 + level) / 2, df), df))


def fewest_beyond(room: float, sd: float, level: float = 0.95) -> int:
    return next(n for n in range(2, 1100) if chance(room, sd, n, level) >= 0.8)


def fewest_same(away: float, sd: float, level: float = 0.90, limit: float = LIMIT) -> int:
    both = (chance(limit - away, sd, n, level) + chance(limit + away, sd, n, level) - 1 for n in range(2, 1100))
    return next(n for n, one in enumerate(both, start=2) if one >= 0.8)


@pytest.mark.parametrize("n", [2, 3, 5, 20])
@pytest.mark.parametrize("level", [0.95, 0.90])
def test_the_half_width_before_a_start(n: int, level: float) -> None:
    error, df = planned(0.02, n)
    expected = math.exp(stats.t.ppf((1 + level) / 2, df) * error) - 1
    assert half_width(0.02, n, level) == pytest.approx(expected, rel=1e-9)
    assert half_width(0.02, n) == half_width(0.02, n, 0.95)


def test_half_widths_at_two_percent_spread() -> None:
    assert [round(100 * half_width(0.02, n)) for n in (2, 3, 5)] == [15, 5, 3]


def test_one_repeat_has_no_interval_to_plan_for() -> None:
    with pytest.raises(ValueError, match=r"^An interval needs at least two repeats per arm, not 1\.$"):
        half_width(0.02, 1)


def test_same_within_2_percent_takes_20_repeats() -> None:
    assert repeats_for_same(0.02) == fewest_same(0.0, 0.02) == 19


def test_repeats_grow_with_tight_margin_and_noise() -> None:
    assert repeats_for_same(0.02, 0.01) == fewest_same(0.0, 0.02, limit=math.log(1.01))
    assert repeats_for_same(0.005) == fewest_same(0.0, 0.005)
    assert repeats_for_same(1e-4) == 2


def test_excessive_repeats_are_no_plan() -> None:
    assert repeats_for_same(0.15) == fewest_same(0.0, 0.15) == 984
    assert repeats_for_same(0.1512) == 1000
    assert repeats_for_same(0.1513) is None


@pytest.mark.parametrize(
    ("ratio", "sd", "needed"),
    [
        (1.00, 0.02, fewest_same(0.0, 0.02)),
        (1.002, 0.02, fewest_same(math.log(1.002), 0.02)),
        (1.018, 0.02, fewest_beyond(math.log(1.018), 0.02)),  # 'different' comes before 'same'
        (1.06, 0.03, fewest_beyond(math.log(1.06), 0.03)),
        (1 / 1.06, 0.03, fewest_beyond(math.log(1.06), 0.03)),
    ],
)
def test_further_repeats_target_the_nearest_claim(ratio: float, sd: float, needed: int) -> None:
    found = judge(around(7.0, sd, 3), around(7.0 * ratio, sd, 3))
    assert (found.answer, found.more_repeats) == (VerdictAnswer.UNKNOWN, needed - 3)


@pytest.mark.parametrize("ratio", [1.05, 1 / 1.05])
def test_what_is_different_waits_for_its_size(ratio: float) -> None:
    found = judge(around(1.0, 0.02, 4), around(ratio, 0.02, 4))
    assert found.answer is VerdictAnswer.DIFFERENT
    assert found.more_repeats == fewest_beyond(math.log(1.05) - LIMIT, 0.02) - 4


def test_further_repeats_match_shown_intervals() -> None:
    found = judge(around(1.0, 0.03, 3), around(1.06, 0.03, 3), comparisons=5)
    assert found.more_repeats == fewest_beyond(math.log(1.06), 0.03, 0.99) - 3
    found = judge(around(1.0, 0.02, 3), around(1.0, 0.02, 3), comparisons=5)
    assert found.more_repeats == fewest_same(0.0, 0.02, 0.98) - 3


def test_one_further_repeat_may_be_enough() -> None:
    found = judge(around(1.0, 0.02, 2), around(1.085, 0.02, 2))
    assert (found.answer, found.more_repeats) == (VerdictAnswer.UNKNOWN, fewest_beyond(math.log(1.085), 0.02) - 2)
    assert found.more_repeats == 1


def test_difference_on_the_margin_never_settles() -> None:
    found = judge(around(1.0, 0.01, 5), around(1.02, 0.01, 5))
    assert (found.answer, found.more_repeats) == (VerdictAnswer.DIFFERENT, None)


def test_single_value_side_gets_its_own_spread() -> None:
    found = judge([1.0], [1.05], earlier=EarlierSpread(0.02, 6))
    assert found.more_repeats == fewest_beyond(math.log(1.05), 0.02) - 1
    assert judge([1.0], [1.05]).more_repeats is None


def test_noisier_and_rarer_sides_keep_weight() -> None:
    """By hand: a side of 2 repeats at 1 % and one of 4 at 4 %, at a ratio of 1.06."""

    def is_enough(more: int) -> bool:
        parts, dfs = (0.01**2 / (2 + more), 0.04**2 / (4 + more)), (1 + more, 3 + more)
        upper = sum(parts) ** 2 + sum(2 * part**2 / df for part, df in zip(parts, dfs, strict=True))
        lower = sum(part**2 / df + 2 * (part / df) ** 2 for part, df in zip(parts, dfs, strict=True))
        shift = math.log(1.06) / math.sqrt(sum(parts)) - stats.t.ppf(0.975, upper / lower)
        return bool(stats.t.cdf(shift, upper / lower) >= 0.8)

    found = judge(around(1.0, 0.01, 2), around(1.06, 0.04, 4))
    assert found.more_repeats == next(n for n in range(1, 50) if is_enough(n))
