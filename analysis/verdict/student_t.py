"""Student's t distribution for any positive degrees of freedom, in plain Python: tail and quantile."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

CONVERGED = 1e-15  # of the continued fraction: two neighbours agree to this
CLOSE_ENOUGH = 1e-13  # of the quantile: the next step is shorter than this share of it


def tail_beyond(t: float, df: float) -> float:
    """Return P(T > |t|): half of the regularised incomplete beta function, DLMF 8.17."""
    square = t * t
    return 0.5 * incomplete_beta(df / (df + square), square / (df + square), df / 2, 0.5)


@lru_cache(maxsize=4096)
def quantile(p: float, df: float) -> float:
    """Return t with P(T <= t) = p. ValueError unless 0 < p < 1 and df > 0."""
    if not (0 < p < 1 and df > 0):
        raise ValueError(f"Student's t needs 0 < p < 1 and df > 0, not p = {p} and df = {df}.")
    return _upper_quantile(1 - p, df) if p >= 0.5 else -_upper_quantile(p, df)


def _upper_quantile(tail: float, df: float) -> float:
    """Iterate by Newton from the normal quantile, always too low: the tail is convex, so no step overshoots."""
    t = -NormalDist().inv_cdf(tail)
    while (step := (tail_beyond(t, df) - tail) / _density(t, df)) > CLOSE_ENOUGH * t:
        t += step
    return t


def _density(t: float, df: float) -> float:
    log_scale = -_log_beta(df / 2, 0.5) - 0.5 * math.log(df)
    return math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))


def incomplete_beta(x: float, y: float, a: float, b: float) -> float:
    """Return the regularised I_x(a, b); y = 1 - x is passed separately because the difference would lose digits."""
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side
        return 1.0 - incomplete_beta(y, x, b, a)
    if x == 0:
        return 0.0
    log_front = a * math.log(x) + b * math.log(y) - math.log(a) - _log_beta(a, b)
    return math.exp(log_front) * _continued_fraction(x, a, b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate 1/(1 + d1/(1 + d2/(1 + ...))) of DLMF 8.17.22 by Lentz's method, with d of 8.17.23.

    A verdict spends most of its time here, so one loop computes the d in pairs without a function call.
    """
    c, d, product = 1.0, 0.0, 1.0
    terms: tuple[float, ...] = (-(a + b) * x / (a + 1),)
    m = 0
    while True:
        for term in terms:
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            step = c * d
            product *= step
            if abs(step - 1.0) < CONVERGED:
                return 1.0 / product
        m += 1
        index = a + 2 * m
        terms = (m * (b - m) * x / ((index - 1) * index), -(a + m) * (a + b + m) * x / (index * (index + 1)))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
