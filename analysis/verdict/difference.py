"""The log ratio of two sides and its interval: Welch's t, and Cochran and Cox's where the sides are unlike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.verdict.replicates import Side, Spread, side_of
from analysis.verdict.student_t import quantile

LARGEST_LOG = 700.0  # beyond it a ratio is too large for a float


@dataclass(frozen=True, slots=True)
class Error:
    """Independent parts of the variance of a log ratio, each with its degrees of freedom."""

    variances: tuple[float, ...]
    dfs: tuple[float, ...]

    @property
    def standard(self) -> float:
        return math.sqrt(math.fsum(self.variances))

    @property
    def df(self) -> float:
        """Welch and Satterthwaite's degrees of freedom."""
        whole = math.fsum(self.variances)
        return 1 / math.fsum((part / whole) ** 2 / df for part, df in zip(self.variances, self.dfs, strict=True))

    def critical(self, level: float) -> float:
        """The t of a two-sided interval. Welch's falls short where the sides' degrees of freedom differ."""
        p = (1 + level) / 2
        return quantile(p, self.df) if len(set(self.dfs)) == 1 else self._weighted(p)

    def _weighted(self, p: float) -> float:
        """Cochran and Cox: each side's own t, by its share of the variance."""
        products = (part * quantile(p, df) for part, df in zip(self.variances, self.dfs, strict=True))
        return math.fsum(products) / math.fsum(self.variances)


def error_of(baseline: Side, other: Side) -> Error | None:
    """None where a side's spread is not known."""
    a, b = baseline.spread, other.spread
    if a is None or b is None:
        return None
    parts = (a.variance / baseline.count, b.variance / other.count)
    if _is_one_estimate(a, b):
        return Error((math.fsum(parts),), (a.df,))
    return Error(parts, (a.df, b.df))


def _is_one_estimate(a: Spread, b: Spread) -> bool:
    """Whether both sides take the spread of the same earlier repeats."""
    return a.source == b.source == "earlier"


def interval_of_ratio(
    baseline: Sequence[float], other: Sequence[float], level: float = 0.95
) -> tuple[float, float] | None:
    """The interval of other over baseline from the replicates' values. None where a side's spread is not known."""
    a, b = side_of(baseline), side_of(other)
    error = error_of(a, b)
    return None if error is None else as_ratios(log_interval(b.mean_log - a.mean_log, error, level))


def log_interval(log_ratio: float, error: Error, level: float) -> tuple[float, float]:
    half = error.critical(level) * error.standard
    return log_ratio - half, log_ratio + half


def as_ratios(logs: tuple[float, float]) -> tuple[float, float]:
    return as_ratio(logs[0]), as_ratio(logs[1])


def as_ratio(log: float) -> float:
    return math.exp(log) if log < LARGEST_LOG else math.inf
