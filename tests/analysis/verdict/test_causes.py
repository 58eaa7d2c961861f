"""Causes of a ratio: what the factors' own intervals show, jointly, and which share of the difference each has."""

from __future__ import annotations

import math

import pytest

from analysis.verdict import FactorFinding, Ratio, factor_effects, read_causes
from analysis.verdict.causes import LEAST_SD
from analysis.verdict.student_t import quantile


def starts(tokens: list[float], steps: list[float]) -> list[dict[str, float]]:
    return [{"tokens": t, "steps": s} for t, s in zip(tokens, steps, strict=True)]


def test_only_a_shown_factor_is_a_cause() -> None:
    plain, fast = [2.0, 2.2, 1.9], [100.0, 101.0, 99.5]
    tokens, steps = factor_effects([starts(plain, fast), starts([2.1, 2.3, 2.0], [130.0, 131.0, 129.0])])
    assert (tokens.finding, steps.finding) == (FactorFinding.UNKNOWN, FactorFinding.ROSE)
    reading = read_causes([tokens, steps], 1.36)
    assert reading.causes == (steps,) and reading.undecided == (tokens,) and not reading.opposing


def test_intervals_are_joint() -> None:
    first, second = starts([2.0, 2.2, 1.9], [100.0, 101.0, 99.5]), starts([2.1, 2.3, 2.0], [130.0, 131.0, 129.0])
    wide = {comparisons: factor_effects([first, second], comparisons=comparisons)[1] for comparisons in (1, 3)}
    alone = Ratio.of_sides("steps", [100.0, 101.0, 99.5], [130.0, 131.0, 129.0]).interval
    assert alone and wide[1].interval and wide[3].interval
    lows = [interval[0] for interval in (wide[3].interval, wide[1].interval, alone)]
    assert lows == sorted(lows) and len(set(lows)) == 3


def test_equal_values_count_as_measured() -> None:
    """A server without drafts makes one token per step in every start, which is no unknown spread."""
    tokens, _ = factor_effects([starts([1.0] * 3, [10.0, 10.5, 10.2]), starts([3.0, 3.3, 3.1], [10.0, 10.5, 10.1])])
    assert tokens.finding is FactorFinding.ROSE and tokens.interval
    exact, _ = factor_effects([starts([1.0, 1.0], [10.0, 10.5]), starts([1.0, 1.0], [9.0, 9.5])])
    assert exact.finding is FactorFinding.UNCHANGED and exact.interval is None and exact.share == 0.0
    rounded, _ = factor_effects([starts([1.0, 1.0], [10.0, 10.5]), starts([2.0, 2.0], [9.0, 9.5])])
    half = quantile(1 - 0.025 / 2, 2) * LEAST_SD
    assert rounded.interval == pytest.approx((2 * math.exp(-half), 2 * math.exp(half)))


def test_only_factor_that_varies_is_the_cause() -> None:
    """With one start each nothing has an interval; the ratio itself is judged by earlier repeats."""
    tokens, steps = factor_effects([starts([1.0], [10.0]), starts([1.0], [15.0])])
    assert tokens.finding is FactorFinding.UNCHANGED and steps.finding is FactorFinding.ROSE
    unlike = factor_effects([starts([1.0], [10.0]), starts([1.1], [15.0])])
    assert {effect.finding for effect in unlike} == {FactorFinding.UNKNOWN}


def test_shares_of_the_difference() -> None:
    sides = [starts([1.0, 1.02, 0.99], [100.0, 101.0, 99.0]), starts([1.21, 1.2, 1.22], [110.0, 111.0, 109.5])]
    tokens, steps = factor_effects(sides)
    assert tokens.share and steps.share and tokens.share + steps.share == pytest.approx(1.0)
    assert tokens.share == pytest.approx(2 / 3, abs=0.03)
    assert tokens.share_interval and tokens.share_interval[0] < tokens.share < tokens.share_interval[1]
    reading = read_causes([steps, tokens], 1.33)
    assert [effect.name for effect in reading.causes] == ["tokens", "steps"], "the main one first"


def test_known_but_small_factor_is_no_cause() -> None:
    sides = [starts([1.0, 1.001, 0.999], [100.0, 100.1, 99.9]), starts([1.01, 1.011, 1.009], [130.0, 130.1, 129.9])]
    tokens, steps = factor_effects(sides)
    assert tokens.finding is FactorFinding.ROSE
    reading = read_causes([tokens, steps], 1.313)
    assert reading.causes == (steps,) and reading.unchanged == (tokens,)
    assert read_causes([tokens], 1.01).causes == (tokens,), "unless there is none larger"


def test_opposing_factor_is_named_apart() -> None:
    sides = [starts([1.0, 1.001], [100.0, 100.1]), starts([2.0, 2.001], [80.0, 80.1])]
    reading = read_causes(factor_effects(sides), 1.6)
    assert [effect.name for effect in reading.causes] == ["tokens"]
    assert [effect.name for effect in reading.opposing] == ["steps"]
