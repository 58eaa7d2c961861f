"""The log ratio of two sides and its interval: Welch's t, and Cochran and Cox's if the sides' df differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.verdict.replicates import Side, Spread, side_of
from analysis.verdict.student_t import quantile

LARGEST_LOG = 700.0  # beyond it a ratio is too large for a float


@dataclass(frozen=True, slots=True)
class ErrorTerm:
    """One side's contribution to the error of a log ratio."""

    count: int  # of replicates
    spread: Spread

    @property
    def variance(self) -> float:
        """The variance of the mean of the logs."""
        return self.spread.variance / self.count


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The error of a log ratio. `shared`: both sides use the spread of the same earlier repeats, one estimate."""

    terms: tuple[ErrorTerm, ErrorTerm]
    shared: bool = False

    def variance(self) -> float:
        """Return the variance of the log ratio: the sum of the variances of both sides' means."""
        return math.fsum(term.variance for term in self.terms)

    def sd_log(self) -> float:
        """Return the standard deviation of one replicate: the root of the mean of both sides' variances."""
        return math.sqrt(math.fsum(term.spread.variance for term in self.terms) / 2)

    def df(self) -> float:
        """Return Welch and Satterthwaite's degrees of freedom, or those of the shared estimate."""
        if self.shared:
            return self.terms[0].spread.df
        return self.variance() ** 2 / math.fsum(term.variance**2 / term.spread.df for term in self.terms)

    def critical_t(self, level: float) -> float:
        """Return the t of a two-sided interval. Welch's falls short if the sides' degrees of freedom differ."""
        a, b = (term.spread.df for term in self.terms)
        p = (1 + level) / 2
        return quantile(p, self.df()) if a == b else self._weighted(p)

    def half_length(self, level: float) -> float:
        """Return half of the interval's length on the log scale."""
        return self.critical_t(level) * math.sqrt(self.variance())

    def _weighted(self, p: float) -> float:
        """Return Cochran and Cox's t: each side's t, weighted by its share of the variance."""
        return math.fsum(term.variance * quantile(p, term.spread.df) for term in self.terms) / self.variance()


def uncertainty_of(baseline: Side, contender: Side) -> Uncertainty | None:
    """Return the uncertainty of the log ratio; None if a side's spread is unknown."""
    a, b = baseline.spread, contender.spread
    if a is None or b is None:
        return None
    return Uncertainty((ErrorTerm(baseline.count, a), ErrorTerm(contender.count, b)), shared=not (a.is_own or b.is_own))


def interval_of_ratio(
    baseline: Sequence[float], contender: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of contender over baseline from replicate values; None if a side's spread is unknown."""
    a, b = side_of(baseline), side_of(contender)
    uncertainty = uncertainty_of(a, b)
    return None if uncertainty is None else as_ratios(log_interval(b.mean_log - a.mean_log, uncertainty, level))


def log_interval(log_ratio: float, uncertainty: Uncertainty, level: float) -> tuple[float, float]:
    """Return the two-sided interval of a log ratio at this level (0.95), the lower bound first."""
    half = uncertainty.half_length(level)
    return log_ratio - half, log_ratio + half


def as_ratios(logs: tuple[float, float]) -> tuple[float, float]:
    """Return both bounds of an interval of logs as ratios."""
    return as_ratio(logs[0]), as_ratio(logs[1])


def as_ratio(log: float) -> float:
    """Return the ratio of this log; infinite if it is too large for a float."""
    return math.exp(log) if log < LARGEST_LOG else math.inf
