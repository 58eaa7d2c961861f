"""Forecast of the further repeats that settle an open comparison: a range, because its ratio and spread are estimates.

The range comes from draws of the true values that the repeats so far allow: each side's variance from its scaled
inverse chi-square, its mean from a normal around the observed one, both with flat priors (Gelman, Bayesian Data
Analysis, 3.2). For each draw, further repeats are simulated and judged together with the present ones, by the
comparison's own rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analysis.verdict.replicates import Side
from analysis.verdict.student_t import quantile

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
LOW_CHANCE, HIGH_CHANCE = 0.2, 0.8  # that the comparison is settled after `low` and after `high` further repeats
DRAWS = 1500
MAX_REPEATS = 1000  # more server starts for one question are impractical
REPEAT_COUNTS = (*range(1, 21), *(round(20 * 1.12**power) for power in range(1, 34)), 900, MAX_REPEATS)
DFS = np.array([1 / 16, 1 / 4, 1 / 2, *np.geomspace(1, 4096, 49)])  # between them a t is interpolated


class SettlingRepeats(NamedTuple):
    """Further repeats of each side: after `low`, one in five such comparisons is settled; after `high`, four."""

    low: int
    high: int | None  # None: more than MAX_REPEATS


class Levels(NamedTuple):
    """Rules that settle a comparison: log of the smallest relevant difference, confidence levels of both intervals."""

    limit: float
    level: float
    level_same: float


@lru_cache(maxsize=512)
def settling_repeats(a: Side, b: Side, levels: Levels, *, needs_size: bool) -> SettlingRepeats | None:
    """Return the range of further repeats of each side; None if even `low` is more than MAX_REPEATS.

    needs_size: it is known that the sides differ, so that only the size of the difference settles the comparison.
    """
    chance = _chances(sorted((a, b), key=_order), levels, needs_size)  # the same whichever is the baseline
    low = _first_number(chance, LOW_CHANCE)
    return None if low is None else SettlingRepeats(low, _first_number(chance, HIGH_CHANCE))


def _order(side: Side) -> tuple[float, ...]:
    return side.count, side.mean_log, side.spread.variance if side.spread else 0.0


def _first_number(chance: Callable[[int], float], min_chance: float) -> int | None:
    """Return the smallest number whose chance reaches `min_chance`."""
    below = 0
    for number in REPEAT_COUNTS:
        if chance(number) >= min_chance:
            return next(n for n in range(below + 1, number + 1) if n == number or chance(n) >= min_chance)
        below = number
    return None


def _chances(sides: Sequence[Side], levels: Levels, needs_size: bool) -> Callable[[int], float]:
    """Return a function: further repeats of each side -> the chance that they settle the comparison."""
    possible = [_PossibleSide(side, np.random.default_rng(seed)) for seed, side in enumerate(sides)]

    @cache
    def chance(further: int) -> float:
        (mean_a, variance_a, df_a), (mean_b, variance_b, df_b) = (side.after(further) for side in possible)
        difference, error = mean_b - mean_a, np.sqrt(variance_a + variance_b)
        dfs = (variance_a + variance_b) ** 2 / (variance_a**2 / df_a + variance_b**2 / df_b)

        def half_length(level: float) -> Floats:
            p = (1 + level) / 2
            if df_a == df_b:
                return _quantiles(p, dfs) * error
            weighted = variance_a * quantile(p, df_a) + variance_b * quantile(p, df_b)
            return np.asarray(weighted / error, dtype=np.float64)

        return float(np.mean(_is_settled(np.abs(difference), half_length, levels, needs_size)))

    return chance


def _is_settled(distance: Floats, half_length: Callable[[float], Floats], levels: Levels, needs_size: bool) -> Bools:
    """Return which of the draws are settled: better or worse, the same, or at least shown to differ."""
    nearest_limit = levels.limit if needs_size else 0.0
    is_beyond = distance - half_length(levels.level) > nearest_limit
    is_same = distance + half_length(levels.level_same) < levels.limit
    return np.asarray(is_beyond | is_same, dtype=np.bool_)


class _PossibleSide:
    """Draws of a side's true mean and spread, and of its estimates after further repeats."""

    def __init__(self, side: Side, rng: np.random.Generator) -> None:
        assert side.spread, "a forecast needs a spread"
        self._rng, self._side = rng, side
        spread = side.spread
        self._sd = np.sqrt(spread.variance * spread.df / rng.chisquare(spread.df, DRAWS))
        self._mean = side.mean_log + self._sd / math.sqrt(side.count) * rng.standard_normal(DRAWS)
        self._mean_noise = rng.standard_normal(DRAWS)
        self._squares_sum = spread.variance * (side.count - 1) if spread.is_own else 0.0

    def after(self, further: int) -> tuple[Floats, Floats, int]:
        """Return the mean of all repeats, its variance and the degrees of freedom, after this many further ones."""
        count = self._side.count + further
        new_mean = self._mean + self._sd / math.sqrt(further) * self._mean_noise
        mean = (self._side.count * self._side.mean_log + further * new_mean) / count
        new_squares_sum = self._sd**2 * self._rng.chisquare(further - 1, DRAWS) if further > 1 else 0.0
        between_means = self._side.count * further / count * (new_mean - self._side.mean_log) ** 2
        squares_sum = self._squares_sum + new_squares_sum + between_means
        return mean, squares_sum / (count - 1) / count, count - 1


def _quantiles(p: float, dfs: Floats) -> Floats:
    """Return Student's quantiles, interpolated over 1/df to a relative error below 0.1 %."""
    values = [quantile(p, float(df)) for df in DFS]
    return np.asarray(np.interp(-1 / dfs, -1 / DFS, values), dtype=np.float64)
