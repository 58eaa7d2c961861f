"""Shares over positions that belong to texts, and the difference of two such shares on the same texts.

The unit is the text: positions of one text are not independent. A share has Wilson's interval with the effective number
of positions, N / deff, where the design effect deff follows from the variance of the texts' own shares. Few events
show no correlation, so it is taken to be at least LEAST_CORRELATION. Quantiles are Student's; where few texts have most
of the events the variance is known badly, so the degrees of freedom follow from the kurtosis of the texts' shares
(Satterthwaite). The difference is put together from both intervals by their correlation over the texts (MOVER: Zou and
Donner, Statistics in Medicine 27, 2008). benchmarks/simulations/fidelity_simulation.py has the coverage of both.
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
LEAST_FREEDOM = 4.0  # degrees of freedom of a share's interval
LEAST_FREEDOM_OF_LOSS = 8.0  # of the upper limit of a difference; with fewer, equal servers are seldom shown so
SKEW_SHARE = 0.6  # of the skewness that clusters add, in the lower limit of a difference; all of it covers too little


class Limits(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


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
    share = _share(counts)
    if len(counts) < LEAST_TEXTS:
        return TextEstimate(share, len(counts))
    low, high = _limits(counts, share, _quantile(counts, share, level, LEAST_FREEDOM))
    return TextEstimate(share, len(counts), low, high)


def _share(counts: CountsByText) -> float:
    return fsum(count.hits for count in counts.values()) / fsum(count.positions for count in counts.values())


def _limits(counts: CountsByText, share: float, t: float) -> Limits:
    """Return Wilson's limits for the effective number of positions."""
    effective = _effective_positions(counts, share)
    middle = (share + t * t / (2 * effective)) / (1 + t * t / effective)
    half = t * sqrt(share * (1 - share) / effective + (t / (2 * effective)) ** 2) / (1 + t * t / effective)
    return Limits(0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half)


def _quantile(counts: CountsByText, share: float, level: float, least_freedom: float) -> float:
    """Return Student's quantile with the degrees of freedom that the spread of the texts' shares leaves.

    A variance of n values with kurtosis k varies like one with 2n / (k - (n - 3) / (n - 1)) degrees of freedom.
    """
    n = len(counts)
    squares = [(count.share - share) ** 2 for count in counts.values()]
    variance = fsum(squares) / (n - 1)
    kurtosis = fmean(square**2 for square in squares) / variance**2 if variance > 0 else 3.0
    excess = kurtosis - (n - 3) / (n - 1)
    freedom = 2 * n / excess if excess > 0 else n - 1.0
    return quantile((1 + level) / 2, min(n - 1.0, max(least_freedom, freedom)))


def _effective_positions(counts: CountsByText, share: float) -> float:
    return fsum(count.positions for count in counts.values()) / _design_effect(counts, share)


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
    if not names:
        return None
    first, second = ({name: counts[name] for name in names} for counts in (first, second))
    shares = tuple(_share(counts) for counts in (first, second))
    difference = shares[1] - shares[0]
    if len(names) < LEAST_TEXTS:
        return TextEstimate(difference, len(names))
    correlation = _correlation([first[name].share for name in names], [second[name].share for name in names])
    below = _length_below(first, second, correlation, level)
    above = _length_above(first, second, correlation, level)
    return TextEstimate(difference, len(names), max(-1.0, difference - below), min(1.0, difference + above))


def _length_below(first: CountsByText, second: CountsByText, correlation: float, level: float) -> float:
    """Return how far the interval of second minus first goes below it.

    Wilson's limits shift with the skewness of independent events. Events in clusters are more skewed, so that a limit
    without the further shift would miss true differences.
    """
    t = quantile((1 + level) / 2, len(first) - 1)
    first_share, second_share = _share(first), _share(second)
    high = _limits(first, first_share, t).high + SKEW_SHARE * _cluster_shift(first, first_share, t)
    low = _limits(second, second_share, t).low
    return _combined(second_share - low, max(first_share, high) - first_share, correlation)


def _length_above(first: CountsByText, second: CountsByText, correlation: float, level: float) -> float:
    """Return how far the interval of second minus first goes above it."""
    first_share, second_share = _share(first), _share(second)
    low = _limits(first, first_share, _quantile(first, first_share, level, LEAST_FREEDOM_OF_LOSS)).low
    high = _limits(second, second_share, _quantile(second, second_share, level, LEAST_FREEDOM_OF_LOSS)).high
    return _combined(high - second_share, first_share - low, correlation)


def _cluster_shift(counts: CountsByText, share: float, t: float) -> float:
    """Return by how much the skewness of clustered events shifts a limit beyond Wilson's own shift.

    Events at rates from a gamma distribution are 2 - 1 / deff times as skewed as independent ones of the same variance;
    Cornish and Fisher's shift is (1 + 2 t^2) / 6 of the skewness, Wilson's t^2 / 2.
    """
    if not 0 < share < 1:
        return 0.0
    skewness = 2 - 1 / _design_effect(counts, share)
    excess = max(0.0, skewness * (1 + 2 * t * t) / 6 - t * t / 2)
    return excess * (1 - 2 * share) / _effective_positions(counts, share)


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
