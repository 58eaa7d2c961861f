"""Difference between two accuracies on the same items: exact McNemar test and Newcombe's interval for paired shares."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, fsum, lgamma, log, sqrt
from typing import NamedTuple

from analysis.loads.accuracy import LEVEL, ShareInterval, wilson


class PairedItems(NamedTuple):
    """Numbers of items by their answers in two loads, the baseline's first."""

    both: int  # right in both
    lost: int  # right in the baseline alone
    won: int  # right in the contender alone
    neither: int

    @property
    def n(self) -> int:
        """The number of paired items."""
        return sum(self)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Contender minus baseline in percentage points, with the test and the counts behind it."""

    points: float
    low: float  # bounds of the interval, in points
    high: float
    p_value: float  # of McNemar's exact test
    items: PairedItems


def paired_difference(items: PairedItems, level: float = LEVEL) -> PairedDifference:
    """Return the difference with its interval at this level. ValueError for no items and for negative counts."""
    interval = newcombe_paired(items, level)
    points = 100 * (items.won - items.lost) / items.n
    return PairedDifference(
        points, 100 * interval.low, 100 * interval.high, mcnemar_exact(items.lost, items.won), items
    )


def mcnemar_exact(lost: int, won: int) -> float:
    """Return the two-sided p value of McNemar's exact conditional test: a sign test of the discordant pairs.

    lost, won: numbers of items that are right in one load alone. ValueError for a negative count.
    """
    if min(lost, won) < 0:
        raise ValueError(f"{lost} lost and {won} won are no counts.")
    n = lost + won
    tail = fsum(exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2)) for k in range(min(lost, won) + 1))
    return min(1.0, 2 * tail)


def newcombe_paired(items: PairedItems, level: float = LEVEL) -> ShareInterval:
    """Return the interval of the difference between two paired shares, contender minus baseline, -1..1.

    Method 10 of R. G. Newcombe, "Improved confidence intervals for the difference between binomial proportions based on
    paired data", Statistics in Medicine 17 (1998) 2635-2650: Wilson's intervals of both shares, squared and added with
    the corrected correlation. ValueError for no items and for negative counts.
    """
    n = items.n
    if n == 0 or min(items) < 0:
        raise ValueError(f"{tuple(items)} are no numbers of paired items.")
    right = (items.both + items.won, items.both + items.lost)  # of the contender, of the baseline
    contender, baseline = (wilson(count, n, level) for count in right)
    shares = (right[0] / n, right[1] / n)
    difference, correlation = (items.won - items.lost) / n, _corrected_phi(items)
    below = _combined(shares[0] - contender.low, baseline.high - shares[1], correlation)
    above = _combined(contender.high - shares[0], shares[1] - baseline.low, correlation)
    return ShareInterval(max(-1.0, difference - below), min(1.0, difference + above))


def _combined(first: float, second: float, correlation: float) -> float:
    return sqrt(max(0.0, first**2 - 2 * correlation * first * second + second**2))


def _corrected_phi(items: PairedItems) -> float:
    """Return the correlation of the answers; a positive one is corrected for continuity."""
    both, lost, won, neither = items
    margins = (both + lost) * (won + neither) * (both + won) * (lost + neither)
    if not margins:
        return 0.0
    product = both * neither - lost * won
    return (max(product - items.n / 2, 0.0) if product > 0 else product) / sqrt(margins)
