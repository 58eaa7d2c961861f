"""The mean of one side's server starts and its interval, outside a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from analysis.verdict.replicates import side_of
from analysis.verdict.student_t import quantile

LEVEL = 0.95


def mean_of(values: Sequence[float]) -> float | None:
    """Return the geometric mean; the arithmetic mean if a value is not positive; None without values."""
    if len(values) < 2:
        return next(iter(values), None)
    return math.exp(fmean(map(math.log, values))) if min(values) > 0 else fmean(values)


def interval_of_mean(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the starts' geometric mean, by Student's t; None if their spread is unknown."""
    if len(values) < 2 or min(values) <= 0:
        return None
    side = side_of(values)
    if side.spread is None:
        return None
    half_length = quantile((1 + LEVEL) / 2, side.spread.df) * math.sqrt(side.spread.variance / side.count)
    return math.exp(side.mean_log - half_length), math.exp(side.mean_log + half_length)
