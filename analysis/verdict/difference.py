"""The log ratio of two sides and its interval: Welch's t, and Cochran and Cox's where the sides are unlike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.verdict.replicates import Side, Spread, side_of
from analysis.verdict.student_t import quantile

LARGEST_LOG = 700.0  # beyond it a ratio is too large for a float


@dataclass(frozen=True, slots=True)
class Part:
    """What one side adds to the error of a log ratio."""

    count: int  # of replicates
    spread: Spread

    @property
    def variance(self) -> float:
        """The variance of the mean of the logs."""
        return self.spread.variance / self.count


@dataclass(frozen=True, slots=True)
class Error:
    """The error of a log ratio. `shared`: both sides take the spread of the same earlier repeats, one estimate."""

    parts: tuple[Part, Part]
    shared: bool = False

    def variance(self) -> float:
        """The variance of the log ratio: the sum of the variances of both sides' means."""
        return math.fsum(part.variance for part in self.parts)

    def sd_log(self) -> float:
        """The standard deviation of one replicate: the root of the mean of both sides' variances."""
        return math.sqrt(math.fsum(part.spread.variance for part in self.parts) / 2)

    def df(self) -> float:
        """Welch and Satterthwaite's degrees of freedom, or those of the one estimate."""
        if self.shared:
            return self.parts[0].spread.df
        return self.variance() ** 2 / math.fsum(part.variance**2 / part.spread.df for part in self.parts)

    def critical(self, level: float) -> float:
        """The t of a two-sided interval. Welch's falls short where the sides' degrees of freedom differ."""
        a, b = (part.spread.df for part in self.parts)
        p = (1 + level) / 2
        return quantile(p, self.df()) if a == b else self._weighted(p)

    def half(self, level: float) -> float:
        """Half of the interval's length on the log scale."""
        return self.critical(level) * math.sqrt(self.variance())

    def _weighted(self, p: float) -> float:
        """Cochran and Cox: each side's own t, by its share of the variance."""
        return math.fsum(part.variance * quantile(p, part.spread.df) for part in self.parts) / self.variance()


def error_of(baseline: Side, other: Side) -> Error | None:
    """None where a side's spread is not known."""
    a, b = baseline.spread, other.spread
    if a is None or b is None:
        return None
    return Error((Part(baseline.count, a), Part(other.count, b)), shared=not (a.is_own or b.is_own))


def interval_of_ratio(
    baseline: Sequence[float], other: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """The interval of other over baseline from the replicates' values. None where a side's spread is not known."""
    a, b = side_of(baseline), side_of(other)
    error = error_of(a, b)
    return None if error is None else as_ratios(log_interval(b.mean_log - a.mean_log, error, level))


def log_interval(log_ratio: float, error: Error, level: float) -> tuple[float, float]:
    """The two-sided interval of a log ratio at this level (0.95), the lower bound first."""
    half = error.half(level)
    return log_ratio - half, log_ratio + half


def as_ratios(logs: tuple[float, float]) -> tuple[float, float]:
    """Both bounds of an interval of logs as ratios."""
    return as_ratio(logs[0]), as_ratio(logs[1])


def as_ratio(log: float) -> float:
    """The ratio of this log; infinite where it is too large for a float."""
    return math.exp(log) if log < LARGEST_LOG else math.inf
