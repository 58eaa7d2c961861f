"""The power of a number of repeats, and the repeats that a claim needs."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from benchmarks.simulations.planned_repeats import half_width, repeats_for_same

LIMIT = math.log(1.02)


def planned(sd: float, n: int) -> tuple[float, float]:
    """Standard error and expected degrees of freedom of two like arms: E of b**2 + (1 - b)**2, b a beta variable."""
    share = stats.beta((n - 1) / 2, (n - 1) / 2)
    return sd * math.sqrt(2 / n), (n - 1) / (2 * share.moment(2))


def chance(room: float, sd: float, n: int, level: float) -> float:
    error, df = planned(sd, n)
    return float(stats.t.cdf(room / error - stats.t.ppf((1 + level) / 2, df), df))


def fewest_same(away: float, sd: float, level: float = 0.90, limit: float = LIMIT) -> int:
    chances = (chance(limit - away, sd, n, level) + chance(limit + away, sd, n, level) - 1 for n in range(2, 1100))
    return next(n for n, chance in enumerate(chances, start=2) if chance >= 0.8)


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
