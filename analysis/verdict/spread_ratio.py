"""The interval of a ratio of two standard deviations, by F from the incomplete beta function."""

from __future__ import annotations

import math

from analysis.verdict.student_t import incomplete_beta

STEPS = 200  # halvings, far more than a float has digits


def sd_ratio_interval(ratio: float, df: int, other_df: int, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of one standard deviation over another of normal values, each with its degrees of freedom.

    ValueError for degrees of freedom below 1 or an invalid level.
    """
    if min(df, other_df) < 1 or not 0 < level < 1:
        raise ValueError(f"Two spreads need 1 degree of freedom each and a level, not {df}, {other_df} and {level}.")
    tail = (1 - level) / 2
    return ratio / math.sqrt(f_quantile(1 - tail, df, other_df)), ratio / math.sqrt(f_quantile(tail, df, other_df))


def f_quantile(p: float, df: float, other_df: float) -> float:
    """Return F with P(F' <= F) = p, by bisection: F = y * other_df / (df * (1 - y)) with I_y(df/2, other_df/2) = p."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if incomplete_beta(middle, 1 - middle, df / 2, other_df / 2) < p:
            low = middle
        else:
            high = middle
    return low * other_df / (df * (1 - low))
