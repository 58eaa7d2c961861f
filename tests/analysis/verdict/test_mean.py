"""The mean of one side and its interval, and the interval of a ratio of spreads; scipy is the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from analysis.verdict.mean import interval_of_mean, mean_of
from analysis.verdict.spread_ratio import f_quantile, sd_ratio_interval

VALUES = (101.0, 99.0, 104.0)


def test_mean_is_geometric_only_for_speeds() -> None:
    assert mean_of(VALUES) == pytest.approx(math.exp(sum(map(math.log, VALUES)) / 3))
    assert mean_of((4.0, 1.0)) == pytest.approx(2.0)
    assert (mean_of((0.0, 4.0)), mean_of((-1.0, 5.0))) == (2.0, 2.0)
    assert (mean_of(()), mean_of((7.0,)), mean_of((0.0,))) == (None, 7.0, 0.0)


def test_the_interval_is_students_on_the_logs() -> None:
    logs = np.log(VALUES)
    low, high = scipy.stats.t.interval(0.95, 2, loc=logs.mean(), scale=scipy.stats.sem(logs))
    assert interval_of_mean(VALUES) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-9)
    two = interval_of_mean(VALUES[:2])
    assert two is not None and two[0] < 99.0 < 101.0 < two[1]


def test_without_a_spread_there_is_no_interval() -> None:
    for values in ((), (7.0,), (7.0, 7.0), (0.0, 4.0), (-1.0, 5.0)):
        assert interval_of_mean(values) is None


@pytest.mark.parametrize(("df", "other"), [(1, 1), (2, 5), (9, 3)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_spread_ratio_interval_follows_f(df: int, other: int, level: float) -> None:
    for p in (0.01, 0.5, 0.9):
        assert f_quantile(p, df, other) == pytest.approx(scipy.stats.f.ppf(p, df, other), rel=1e-9)
    low, high = scipy.stats.f.interval(level, df, other)
    assert sd_ratio_interval(2.0, df, other, level) == pytest.approx(
        (2 / math.sqrt(high), 2 / math.sqrt(low)), rel=1e-9
    )
    assert sd_ratio_interval(2.0, df, other) == sd_ratio_interval(2.0, df, other, 0.95)


@pytest.mark.parametrize(("df", "other", "level"), [(0, 1, 0.95), (1, 0, 0.95), (1, 1, 0.0), (1, 1, 1.0)])
def test_no_spread_and_no_level_are_refused(df: int, other: int, level: float) -> None:
    with pytest.raises(ValueError) as refused:
        sd_ratio_interval(1.0, df, other, level)
    assert str(refused.value) == (
        f"Two spreads need 1 degree of freedom each and a level, not {df}, {other} and {level}."
    )
