"""Confidence interval of a share of correct answers."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95


class ShareInterval(NamedTuple):
    """Bounds of a share, 0..1."""

    low: float
    high: float


def wilson(correct: int, n: int, level: float = LEVEL) -> ShareInterval:
    """Return Wilson's interval of a share. ValueError unless 0 <= correct <= n and n > 0."""
    if not 0 <= correct <= n or n == 0:
        raise ValueError(f"{correct} of {n} is not a share.")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, weight = correct / n, z * z / n
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(share * (1 - share) / n + weight / (4 * n))
    return ShareInterval(0.0 if correct == 0 else centre - half, 1.0 if correct == n else centre + half)
