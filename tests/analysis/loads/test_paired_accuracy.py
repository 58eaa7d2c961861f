"""Differences of paired shares, against published worked examples and scipy."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from analysis.loads.paired_accuracy import PairedItems, mcnemar_exact, newcombe_paired, paired_difference


@pytest.mark.parametrize(
    ("items", "low", "high"),
    [  # first share minus second, as published
        ((14, 5, 0, 22), 0.011, 0.226),  # Altman et al., Statistics with Confidence (2000), table 6.2
        ((1, 1, 7, 12), -0.507, -0.026),  # Bentur 2009 in Fagerland et al., Stat. Med. 33 (2014) 2850
        ((36, 12, 2, 0), 0.0569, 0.3404),  # Newcombe, Stat. Med. 17 (1998) 2635, method 10
    ],
)
def test_newcombe_is_the_published_interval(items: tuple[int, int, int, int], low: float, high: float) -> None:
    interval = newcombe_paired(PairedItems(*items))
    assert (-interval.high, -interval.low) == pytest.approx((low, high), abs=6e-4)


@pytest.mark.parametrize(("number", "won", "p"), [(1, 7, 0.0703), (6, 16, 0.0525)])
def test_mcnemar_is_the_published_p_value(number: int, won: int, p: float) -> None:
    """Bentur 2009 and Cavo 2012 in Fagerland et al., BMC Medical Research Methodology 13 (2013) 91."""
    assert mcnemar_exact(number, won) == pytest.approx(p, abs=5e-5)


@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_a_sign_test(number: int, won: int) -> None:
    expected = binomtest(number, number + won).pvalue if number + won else 1.0
    assert mcnemar_exact(number, won) == pytest.approx(expected, rel=1e-9)


def test_a_few_lost_items_of_many_count() -> None:
    difference = paired_difference(PairedItems(2444, 82, 13, 461))
    assert (difference.points, difference.low, difference.high) == pytest.approx((-2.3, -2.95, -1.67), abs=0.01)
    assert difference.p_value < 1e-12


@given(st.tuples(*[st.integers(0, 60)] * 4).filter(any))
def test_swapped_arms_mirror_the_interval(counts: tuple[int, int, int, int]) -> None:
    both, lost, won, neither = counts
    interval, mirrored = (
        newcombe_paired(PairedItems(*items)) for items in ((both, lost, won, neither), (both, won, lost, neither))
    )
    assert interval == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-12)
    difference = (won - lost) / sum(counts)
    assert -1 <= interval.low <= difference + 1e-12 and difference - 1e-12 <= interval.high <= 1


@pytest.mark.parametrize("items", [(0, 0, 0, 0), (5, -1, 2, 3)])
def test_no_pairs_are_refused(items: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="no numbers of paired items"):
        newcombe_paired(PairedItems(*items))
    with pytest.raises(ValueError, match="no counts"):
        mcnemar_exact(-1, 2)


@pytest.mark.wide
@pytest.mark.parametrize("shares", [(0.7, 0.06, 0.03, 0.21), (0.9, 0.03, 0.03, 0.04)])
def test_the_interval_covers_95_of_100(shares: tuple[float, ...]) -> None:
    """Fixed seed; the limit is 95 % less two standard errors of so many draws and half a point of the method."""
    count, rng = 4000, np.random.default_rng(7)
    truth = shares[2] - shares[1]
    draws = rng.multinomial(400, shares, count)
    covered = sum(
        interval.low <= truth <= interval.high
        for interval in (newcombe_paired(PairedItems(*map(int, row))) for row in draws)
    )
    assert covered / count >= 0.95 - 2 * sqrt(0.05 * 0.95 / count) - 0.005
