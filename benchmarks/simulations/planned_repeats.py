"""Sample size planning before a first start: the repeats that a claim needs, and the precision that repeats give."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from analysis.verdict.difference import ErrorTerm
from analysis.verdict.margin import MARGIN
from analysis.verdict.replicates import Spread
from analysis.verdict.student_t import quantile, tail_beyond

POWER = 0.8  # meaning of 'would probably settle it'
MOST_REPEATS = 1000  # more server starts for one question are impractical


@dataclass(frozen=True, slots=True)
class _Plan:
    """Expected error of a log ratio and expected degrees of freedom of Welch's t."""

    standard: float
    df: float

    @classmethod
    def from_terms(cls, a: ErrorTerm, b: ErrorTerm) -> Self:
        """Take the expected numerator over the expected denominator of Welch and Satterthwaite's formula."""
        variance = a.variance + b.variance
        numerator = variance**2 + _squared_term(a, 2) + _squared_term(b, 2)
        denominator = _squared_term(a, 1 + 2 / a.spread.df) + _squared_term(b, 1 + 2 / b.spread.df)
        return cls(math.sqrt(variance), numerator / denominator)

    @classmethod
    def for_equal_arms(cls, sd_log: float, repeats: int) -> Self:
        if repeats < 2:
            raise ValueError(f"An interval needs at least two repeats per arm, not {repeats}.")
        term = _planned_term(sd_log**2, repeats)
        return cls.from_terms(term, term)

    def half_log(self, level: float) -> float:
        return quantile((1 + level) / 2, self.df) * self.standard

    def power_same(self, distance: float, limit: float, level: float) -> float:
        """Return the probability that the interval lies entirely inside the limit, on both sides."""
        return self._chance(limit - distance, level) + self._chance(limit + distance, level) - 1

    def _chance(self, distance: float, level: float) -> float:
        return cdf((distance - self.half_log(level)) / self.standard, self.df)


def _planned_term(variance: float, repeats: int) -> ErrorTerm:
    return ErrorTerm(repeats, Spread(variance, repeats - 1))


def _squared_term(term: ErrorTerm, factor: float) -> float:
    return factor * term.variance**2 / term.spread.df


def cdf(t: float, df: float) -> float:
    """Return P(T <= t) of Student's t."""
    tail = tail_beyond(t, df)
    return 1.0 - tail if t > 0 else tail


def half_width(sd_log: float, n_per_arm: int, level: float = 0.95) -> float:
    """Return how far an interval typically reaches above the ratio, as a share of it: 0.05 is 5 %. From 2 repeats."""
    return math.expm1(_Plan.for_equal_arms(sd_log, n_per_arm).half_log(level))


def repeats_for_same(sd_log: float, margin: float = MARGIN) -> int | None:
    """Return the repeats per arm that probably show 'same' for equal arms. None: more than MOST_REPEATS."""
    limit = math.log1p(margin)
    return _fewest(2, lambda n: _Plan.for_equal_arms(sd_log, n).power_same(0.0, limit, 0.90) >= POWER)


def _fewest(start: int, is_enough: Callable[[int], bool]) -> int | None:
    """Return the smallest sufficient number from `start` on; `is_enough` must be monotonic."""
    numbers = range(start, MOST_REPEATS + 1)
    index = bisect_left(numbers, True, key=is_enough)
    return numbers[index] if index < len(numbers) else None
