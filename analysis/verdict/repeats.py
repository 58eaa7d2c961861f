"""How many repeats a claim takes, and what a number of repeats will show: the plan before and after a start."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from analysis.verdict.replicates import Side
from analysis.verdict.student_t import cdf, quantile

POWER = 0.8  # 'would probably settle it'
MOST_REPEATS = 1000  # nobody starts a server more often than this to settle one question


@dataclass(frozen=True, slots=True)
class _Plan:
    """The error that a log ratio will have, and the degrees of freedom that Welch's t may expect."""

    standard: float
    df: float

    @classmethod
    def alike(cls, sd_log: float, repeats: int) -> Self:
        if repeats < 2:
            raise ValueError(f"An interval takes two repeats an arm or more, not {repeats}.")
        return cls.of((sd_log**2 / repeats, sd_log**2 / repeats), (repeats - 1, repeats - 1))

    @classmethod
    def after(cls, baseline: Side, other: Side, more: int) -> Self:
        counts = (baseline.count + more, other.count + more)
        spreads = [side.spread.variance if side.spread else math.nan for side in (baseline, other)]
        return cls.of((spreads[0] / counts[0], spreads[1] / counts[1]), (counts[0] - 1, counts[1] - 1))

    @classmethod
    def of(cls, parts: tuple[float, float], dfs: tuple[int, int]) -> Self:
        """Expected numerator over expected denominator of Welch and Satterthwaite's formula."""
        terms = list(zip(parts, dfs, strict=True))
        upper = math.fsum(parts) ** 2 + math.fsum(2 * part**2 / df for part, df in terms)
        lower = math.fsum(part**2 * (1 + 2 / df) / df for part, df in terms)
        return cls(math.sqrt(math.fsum(parts)), upper / lower)

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


def half_width(sd_log: float, n_per_arm: int, level: float = 0.95) -> float:
    """How far an interval will typically reach above the ratio, as a share of it: 0.05 is 5 %. From 2 repeats on."""
    return math.expm1(_Plan.alike(sd_log, n_per_arm).half_log(level))


def repeats_for_same(sd_log: float, margin: float = 0.02) -> int | None:
    """Repeats an arm that probably show 'same' where the arms are the same. None: more than MOST_REPEATS."""
    limit = math.log1p(margin)
    return _fewest(2, lambda n: _Plan.alike(sd_log, n).power_same(0.0, limit, 0.90) >= POWER)


def repeats_to_settle(
    baseline: Side, other: Side, limit: float, levels: tuple[float, float], *, different_is_known: bool
) -> int | None:
    """Further repeats an arm until the nearest claim is probably settled, at the ratio and sd seen.

    `limit` is the log of the smallest difference that matters, `levels` those of the interval and of 'same'. None where
    more than MOST_REPEATS are needed, or a side's spread is not known.
    """
    away = abs(other.mean_log - baseline.mean_log)

    def settles(more: int) -> bool:
        plan = _Plan.after(baseline, other, more)
        claims = [plan.power_beyond(away, limit, levels[0]), plan.power_same(away, limit, levels[1])]
        if not different_is_known:
            claims.append(plan.power_beyond(away, 0.0, levels[0]))
        return max(claims) >= POWER

    return _fewest(1, settles) if baseline.spread and other.spread else None


def _fewest(first: int, is_enough: Callable[[int], bool]) -> int | None:
    """The smallest number from `first` on that is enough, where more never is less."""
    numbers = range(first, MOST_REPEATS + 1)
    at = bisect_left(numbers, True, key=is_enough)
    return numbers[at] if at < len(numbers) else None
