"""How sure a share of right answers is, and whether two runs differ on the same items."""

from __future__ import annotations

from math import comb, sqrt
from statistics import NormalDist
from typing import NamedTuple

LEVEL = 0.95


class Interval(NamedTuple):
    """Shares, 0..1."""

    low: float
    high: float


def wilson(correct: int, n: int, level: float = LEVEL) -> Interval:
    """Wilson's interval of a share. ValueError unless 0 <= correct <= n and n > 0."""
    if not 0 <= correct <= n or n == 0:
        raise ValueError(f"{correct} of {n} is no share.")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, weight = correct / n, z * z / n
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(share * (1 - share) / n + weight / (4 * n))
    return Interval(0.0 if correct == 0 else centre - half, 1.0 if correct == n else centre + half)


class Paired(NamedTuple):
    """Items that two runs both answered: how many only one of them had right, and how surprising the split is."""

    only_first: int
    only_second: int
    n: int
    p: float  # two-sided, exact: 1 where they differ on no item


def mcnemar(only_first: int, only_second: int, n: int) -> Paired:
    """McNemar's exact test of `n` paired items. ValueError for counts that cannot be."""
    apart = only_first + only_second
    if min(only_first, only_second) < 0 or apart > n:
        raise ValueError(f"{only_first} and {only_second} of {n} items cannot be.")
    tail = sum(comb(apart, k) for k in range(min(only_first, only_second) + 1))
    return Paired(only_first, only_second, n, min(1.0, 2 * tail / 2**apart))
