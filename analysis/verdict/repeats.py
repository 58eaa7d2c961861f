"""How many repeats a claim takes, and what a number of repeats will show: the plan before and after a start."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from analysis.verdict.difference import Error, Part
from analysis.verdict.margin import MARGIN
from analysis.verdict.replicates import Spread
from analysis.verdict.student_t import cdf, quantile

POWER = 0.8  # 'would probably settle it'
MOST_REPEATS = 1000  # nobody starts a server more often than this to settle one question


@dataclass(frozen=True, slots=True)
class _Plan:
    """The error that a log ratio will have, and the degrees of freedom that Welch's t may expect."""

    standard: float
    df: float

    @classmethod
    def of(cls, a: Part, b: Part) -> Self:
        """Expected numerator over expected denominator of Welch and Satterthwaite's formula."""
        variance = a.variance + b.variance
        upper = variance**2 + _vague(a, 2) + _vague(b, 2)
        lower = _vague(a, 1 + 2 / a.spread.df) + _vague(b, 1 + 2 / b.spread.df)
        return cls(math.sqrt(variance), upper / lower)

    @classmethod
    def alike(cls, sd_log: float, repeats: int) -> Self:
        if repeats < 2:
            raise ValueError(f"An interval takes two repeats an arm or more, not {repeats}.")
        part = _planned(sd_log**2, repeats)
        return cls.of(part, part)

    @classmethod
    def after(cls, seen: Error, more: int) -> Self:
        """With so many further repeats an arm, at the spread that was seen."""
        a, b = (_planned(part.spread.variance, part.count + more) for part in seen.parts)
        return cls.of(a, b)

    def half_log(self, level: float) -> float:
        return quantile((1 + level) / 2, self.df) * self.standard

    def power_beyond(self, away: float, limit: float, level: float) -> float:
        """The chance that the interval lies wholly beyond the limit."""
        return self._chance(away - limit, level)

    def power_same(self, away: float, limit: float, level: float) -> float:
        """The chance that the interval lies wholly inside the limit, on both sides."""
        return self._chance(limit - away, level) + self._chance(limit + away, level) - 1

    def _chance(self, room: float, level: float) -> float:
        return cdf((room - self.half_log(level)) / self.standard, self.df)


def _planned(variance: float, repeats: int) -> Part:
    return Part(repeats, Spread(variance, repeats - 1))


def _vague(part: Part, times: float) -> float:
    return times * part.variance**2 / part.spread.df


def half_width(sd_log: float, n_per_arm: int, level: float = 0.95) -> float:
    """How far an interval will typically reach above the ratio, as a share of it: 0.05 is 5 %. From 2 repeats on."""
    return math.expm1(_Plan.alike(sd_log, n_per_arm).half_log(level))


def repeats_for_same(sd_log: float, margin: float = MARGIN) -> int | None:
    """Repeats an arm that probably show 'same' where the arms are the same. None: more than MOST_REPEATS."""
    limit = math.log1p(margin)
    return _fewest(2, lambda n: _Plan.alike(sd_log, n).power_same(0.0, limit, 0.90) >= POWER)


def repeats_to_settle(
    log_ratio: float, seen: Error, limit: float, levels: tuple[float, float], *, different_is_known: bool
) -> int | None:
    """Further repeats an arm until the nearest claim is probably settled, at the ratio and spread seen.

    `limit` is the log of the smallest difference that matters, `levels` those of the interval and of 'same'. None where
    more than MOST_REPEATS are needed.
    """
    away = abs(log_ratio)
    nearest = limit if different_is_known else 0.0  # beyond nothing takes fewer repeats than beyond the limit

    def settles(more: int) -> bool:
        """What lies on the other side of its limit has a chance below a half, and is not worked out."""
        plan = _Plan.after(seen, more)
        if away > nearest and plan.power_beyond(away, nearest, levels[0]) >= POWER:
            return True
        return away < limit and plan.power_same(away, limit, levels[1]) >= POWER

    return _fewest(1, settles)


def _fewest(first: int, is_enough: Callable[[int], bool]) -> int | None:
    """The smallest number from `first` on that is enough, where more never is less."""
    numbers = range(first, MOST_REPEATS + 1)
    at = bisect_left(numbers, True, key=is_enough)
    return numbers[at] if at < len(numbers) else None
