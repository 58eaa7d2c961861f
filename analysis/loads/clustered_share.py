"""Shares over positions that belong to texts, and the difference of two such shares on the same texts.

The unit is the text: positions of one text are not independent. A share has Wilson's interval with the effective number
of positions, N / deff, where the design effect deff follows from the variance of the texts' own shares. Few events
show no correlation, so it is taken to be at least LEAST_CORRELATION. The difference is put together from both intervals
by their correlation over the texts (MOVER: Zou and Donner, Statistics in Medicine 27, 2008). Quantiles are Student's,
with one degree of freedom less than there are texts. benchmarks/simulations/fidelity_simulation.py has its coverage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from analysis.verdict.student_t import quantile

LEVEL = 0.95
LEAST_CORRELATION = 0.03  # of two positions of a text
LEAST_TEXTS = 4


class TextCount(NamedTuple):
    """Positions of one text, and those of them that count. Averages over several loads need not be whole."""

    hits: float
    positions: float

    @property
    def share(self) -> float:
        """Share of the positions."""
        return self.hits / self.positions


CountsByText = Mapping[str, TextCount]


@dataclass(frozen=True, slots=True)
class TextEstimate:
    """A value with its interval; no interval from fewer than LEAST_TEXTS texts."""

    value: float
    texts: int
    low: float | None = None
    high: float | None = None


def share_of(counts: CountsByText, level: float = LEVEL) -> TextEstimate | None:
    """Return the share over all positions; None without a position."""
    if not counts:
        return None
    share = fsum(count.hits for count in counts.values()) / fsum(count.positions for count in counts.values())
    if len(counts) < LEAST_TEXTS:
        return TextEstimate(share, len(counts))
    t = quantile((1 + level) / 2, len(counts) - 1)
    effective = fsum(count.positions for count in counts.values()) / _design_effect(counts, share)
    middle = (share + t * t / (2 * effective)) / (1 + t * t / effective)
    half = t * sqrt(share * (1 - share) / effective + (t / (2 * effective)) ** 2) / (1 + t * t / effective)
    low, high = (0.0 if share == 0 else middle - half), (1.0 if share == 1 else middle + half)
    return TextEstimate(share, len(counts), low, high)


def _design_effect(counts: CountsByText, share: float) -> float:
    """Return by how much the variance of the share exceeds that of independent positions."""
    per_text = fmean(count.positions for count in counts.values())
    least = 1 + (per_text - 1) * LEAST_CORRELATION
    if not 0 < share < 1:
        return least
    variance = fsum((count.share - share) ** 2 for count in counts.values()) / (len(counts) - 1)
    return min(max(variance * per_text / (share * (1 - share)), least), max(per_text, least))


def difference_of_shares(first: CountsByText, second: CountsByText, level: float = LEVEL) -> TextEstimate | None:
    """Return second minus first over the texts that both have; None without a shared text."""
    names = [name for name in first if name in second]
    first, second = ({name: counts[name] for name in names} for counts in (first, second))
    first_share, second_share = share_of(first, level), share_of(second, level)
    if first_share is None or second_share is None:
        return None
    difference = second_share.value - first_share.value
    if first_share.low is None or first_share.high is None or second_share.low is None or second_share.high is None:
        return TextEstimate(difference, len(names))
    correlation = _correlation([first[name].share for name in names], [second[name].share for name in names])
    below = _combined(second_share.value - second_share.low, first_share.high - first_share.value, correlation)
    above = _combined(second_share.high - second_share.value, first_share.value - first_share.low, correlation)
    return TextEstimate(difference, len(names), max(-1.0, difference - below), min(1.0, difference + above))


def _combined(first: float, second: float, correlation: float) -> float:
    return sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))


def _correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the correlation of the texts' shares; 0 if it is negative, which would widen nothing reliably."""
    means = fmean(first), fmean(second)
    product = fsum((a - means[0]) * (b - means[1]) for a, b in zip(first, second, strict=True))
    squares = fsum((a - means[0]) ** 2 for a in first) * fsum((b - means[1]) ** 2 for b in second)
    return max(0.0, min(1.0, product / sqrt(squares))) if squares > 0 else 0.0


def mean_of_texts(values: Sequence[float], level: float = LEVEL) -> TextEstimate | None:
    """Return the mean of the texts' values with Student's interval; None without a value."""
    if not values:
        return None
    mean = fmean(values)
    if len(values) < LEAST_TEXTS:
        return TextEstimate(mean, len(values))
    half = quantile((1 + level) / 2, len(values) - 1) * stdev(values) / sqrt(len(values))
    return TextEstimate(mean, len(values), mean - half, mean + half)
