"""Intervals of shares, against published numbers and the equation that they solve."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.loads.accuracy import wilson


@pytest.mark.parametrize(
    ("correct", "n", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998) 857, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_interval(correct: int, n: int, low: float, high: float) -> None:
    assert wilson(correct, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_ends_solve_the_score_equation(counts: tuple[int, int]) -> None:
    """At either end the share is 1.96 standard errors of that end away."""
    correct, n = counts
    for end in wilson(correct, n):
        if 0 < end < 1:
            assert abs(correct / n - end) == pytest.approx(1.959963985 * (end * (1 - end) / n) ** 0.5, rel=1e-6)
    assert 0 <= wilson(correct, n).low <= correct / n <= wilson(correct, n).high <= 1


@pytest.mark.parametrize(("correct", "n"), [(1, 0), (0, 0), (-1, 5), (6, 5)])
def test_no_share_is_refused(correct: int, n: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        wilson(correct, n)
