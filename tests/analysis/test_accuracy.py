"""Intervals of shares and paired items, against published numbers and direct sums."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.loads.accuracy import mcnemar, wilson


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
    with pytest.raises(ValueError, match="no share"):
        wilson(correct, n)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_two_sided_binomial_test(first: int, second: int) -> None:
    apart = first + second
    direct = sum(
        comb(apart, k) for k in range(apart + 1) if abs(k - apart / 2) >= abs(first - apart / 2)
    ) / 2**apart  # fmt: skip
    assert mcnemar(first, second, apart).p == pytest.approx(direct)


def test_mcnemar_known() -> None:
    assert mcnemar(1, 9, 40).p == pytest.approx(0.021484375)
    assert mcnemar(0, 0, 40).p == 1.0


@pytest.mark.parametrize("counts", [(-1, 2, 5), (3, 3, 5)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        mcnemar(*counts)
