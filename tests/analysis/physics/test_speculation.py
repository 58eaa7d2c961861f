"""Tokens per step over k, break-even, and the best k with its interval."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.physics.speculation import (
    best_k,
    chance_acceptance,
    chance_tokens,
    predicted_break_even,
    tokens_by_k,
)


def tokens_per_step(shares: list[float]) -> tuple[float, ...]:
    """At k = 0, 1, 2, ...: drafts that cost nothing are worth all that they give."""
    return best_k(shares, 0.0).curve


FALLING = st.lists(st.floats(0, 1), min_size=1, max_size=8).map(lambda shares: sorted(shares, reverse=True))


def test_tokens_per_step_is_one_plus_shares() -> None:
    assert tokens_per_step([0.8, 0.6, 0.5]) == tokens_by_k([0.8, 0.6, 0.5]) == pytest.approx((1.0, 1.8, 2.4, 2.9))
    assert tokens_by_k([0.8, 0.9]) == pytest.approx((1.0, 1.8, 2.6)), "shares cannot grow"


def test_simulated_draft_shares_are_unconditional() -> None:
    """Each draft goes on until a token is refused; the sum over positions is the mean of 1 + accepted."""
    rng = np.random.default_rng(7)
    until = np.minimum(rng.geometric(0.3, 20_000) - 1, 5)  # accepted tokens of each draft
    shares = [float((until >= i).mean()) for i in range(1, 6)]
    assert tokens_per_step(shares)[-1] == pytest.approx(1 + until.mean())
    assert tokens_per_step(shares)[3] == pytest.approx(1 + np.minimum(until, 3).mean())
    assert tokens_per_step(shares)[-1] == pytest.approx(chance_tokens(0.7, 5), rel=0.01)


@given(st.floats(0.001, 0.999), st.integers(1, 12))
def test_the_closed_form_and_its_inverse(a: float, k: int) -> None:
    assert chance_tokens(a, k) == pytest.approx((1 - a ** (k + 1)) / (1 - a))
    assert chance_acceptance(chance_tokens(a, k), k) == pytest.approx(a, abs=1e-6)


def test_tokens_that_no_chance_gives_are_refused() -> None:
    with pytest.raises(ValueError, match="4 draft tokens give 1 to 5"):
        chance_acceptance(5.2, 4)


def test_best_k_stops_where_gain_ends() -> None:
    free = best_k([0.9, 0.8, 0.7], 0.0)
    assert (free.k, free.curve[0]) == (3, 1.0)
    dear = best_k([0.9, 0.3, 0.1], 0.2)
    assert dear.k == 1 and dear.speedup == pytest.approx(1.9 / 1.2)
    assert best_k([0.1], 0.5).k == 0, "speculation that loses is best left out"
    assert predicted_break_even(4, 0.05) == pytest.approx(1.2)


def test_interval_narrows_with_drafts_repeatably() -> None:
    shares = [0.8, 0.66, 0.55, 0.47, 0.41, 0.36, 0.32]
    few, many = best_k(shares, 0.12, 50), best_k(shares, 0.12, 500_000)
    assert few.low <= few.k <= few.high and many.low <= many.k <= many.high
    assert many.high - many.low < few.high - few.low
    assert few == best_k(shares, 0.12, 50)
    assert (best_k(shares, 0.12).low, best_k(shares, 0.12).high) == (0, 7), "without a count anything may be"


@given(FALLING, st.floats(0, 1))
def test_the_curve_s_top_is_the_best(shares: list[float], cost: float) -> None:
    actual_best_k = best_k(shares, cost, 100)
    assert actual_best_k.curve[actual_best_k.k] == max(actual_best_k.curve) == actual_best_k.speedup
    assert actual_best_k.curve[0] == 1.0 and len(actual_best_k.curve) == len(shares) + 1
    tokens = accumulate(shares, initial=1.0)
    assert actual_best_k.curve == pytest.approx([t / (1 + k * cost) for k, t in enumerate(tokens)])
