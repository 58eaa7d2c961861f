"""Causes of a speed ratio: a factor is named as a cause only if its own interval excludes 1.

The ratio is the product of its factors. Their intervals hold jointly: Bonferroni over the factors that vary, and over
the arms that are compared with one baseline.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import fmean

from analysis.verdict.difference import ErrorTerm, Uncertainty, as_ratio, as_ratios, log_interval
from analysis.verdict.margin import MARGIN
from analysis.verdict.ratio import Ratio
from analysis.verdict.replicates import ROUNDING_SD, Side, Spread, side_of

FactorValues = Mapping[str, float]  # of one server start, by the factor's name
# The sd of the log of a factor whose values are equal in all starts of an arm, such as the one token per step of a
# server without drafts: the client's and the counters' tokens agree that well.
LEAST_SD = 0.001


class FactorFinding(StrEnum):
    """What the starts show about one factor."""

    ROSE = "rose"
    FELL = "fell"
    UNCHANGED = "unchanged"  # its interval lies within the margin, or it is equal in every start
    UNKNOWN = "unknown"  # its interval contains 1 and crosses the margin, or there is none


@dataclass(frozen=True, slots=True)
class FactorEffect(Ratio):
    """One factor of the ratio. Its interval holds jointly with those of the others."""

    finding: FactorFinding = FactorFinding.UNKNOWN
    share: float | None = None  # of the logarithm of the ratio; None if that is 0
    share_interval: tuple[float, float] | None = None  # Fieller's; None if it is unbounded


@dataclass(frozen=True, slots=True)
class CauseReading:
    """The factors of a ratio by their part in it, the largest share first."""

    causes: tuple[FactorEffect, ...]  # known to differ in the direction of the ratio
    opposing: tuple[FactorEffect, ...]  # known to differ in the other direction
    unchanged: tuple[FactorEffect, ...]
    undecided: tuple[FactorEffect, ...]  # not known to differ


def factor_effects(
    sides: Sequence[Sequence[FactorValues]], margin: float = MARGIN, comparisons: int = 1
) -> tuple[FactorEffect, ...]:
    """Return the effect of each factor of two sides' starts, in the order of the first start's factors.

    comparisons: the number of arms compared with the same baseline. All values must be positive.
    """
    names = list(sides[0][0])
    columns = {name: [[start[name] for start in side] for side in sides] for name in names}
    varying = [name for name in names if not _is_constant(columns[name])]
    level = 1 - 0.05 / (comparisons * max(1, len(varying)))
    totals = [[math.prod(start.values()) for start in side] for side in sides]
    return tuple(_effect(name, columns[name], totals, level, margin, is_only=varying == [name]) for name in names)


def read_causes(effects: Sequence[FactorEffect], ratio: float, margin: float = MARGIN) -> CauseReading:
    """Sort the factors of a claimed ratio by their part in it.

    A known difference within the margin counts as unchanged beside a larger cause.
    """
    by_size = sorted(effects, key=lambda effect: -abs(math.log(effect.ratio)))
    certain_effects = [effect for effect in by_size if effect.finding in (FactorFinding.ROSE, FactorFinding.FELL)]
    large = [effect for effect in certain_effects if abs(math.log(effect.ratio)) > math.log1p(margin)]
    counted = large or certain_effects
    causes = tuple(effect for effect in counted if (effect.ratio > 1) == (ratio > 1))
    opposing = tuple(effect for effect in counted if effect not in causes)
    undecided = tuple(effect for effect in by_size if effect.finding is FactorFinding.UNKNOWN)
    unchanged = tuple(effect for effect in by_size if effect not in (*causes, *opposing, *undecided))
    return CauseReading(causes, opposing, unchanged, undecided)


def unclaimed(effects: Sequence[FactorEffect]) -> tuple[FactorEffect, ...]:
    """Return the factors of a ratio that has no interval: what is not shown of the ratio is not said of a factor."""
    return tuple(
        replace(effect, finding=FactorFinding.UNKNOWN)
        if effect.finding in (FactorFinding.ROSE, FactorFinding.FELL)
        else effect
        for effect in effects
    )


def _is_constant(column: Sequence[Sequence[float]]) -> bool:
    """Whether a factor is equal in every start of both sides, as for servers that do not draft."""
    values = [value for side in column for value in side]
    return max(values) - min(values) <= ROUNDING_SD * max(values)


def _effect(
    name: str,
    column: Sequence[Sequence[float]],
    totals: Sequence[Sequence[float]],
    level: float,
    margin: float,
    is_only: bool,
) -> FactorEffect:
    plain = Ratio.of_sides(name, *column)
    if _is_constant(column):
        return FactorEffect(name, plain.ratio, plain.values, None, FactorFinding.UNCHANGED, 0.0)
    baseline, contender = (_side(side) for side in column)
    log_ratio = contender.mean_log - baseline.mean_log
    uncertainty = _uncertainty(baseline, contender)
    interval = None if uncertainty is None else as_ratios(log_interval(log_ratio, uncertainty, level))
    total = _log_ratio(totals)
    share = log_ratio / total if total else None
    share_interval = _share_interval(column, totals, uncertainty.critical_t(0.95)) if uncertainty else None
    finding = _finding(interval, margin)
    if is_only and interval is None:  # the whole ratio is this factor's, and the ratio itself is judged
        finding = FactorFinding.ROSE if log_ratio > 0 else FactorFinding.FELL
    return FactorEffect(name, as_ratio(log_ratio), plain.values, interval, finding, share, share_interval)


def _finding(interval: tuple[float, float] | None, margin: float) -> FactorFinding:
    if interval is None:
        return FactorFinding.UNKNOWN
    if interval[0] > 1:
        return FactorFinding.ROSE
    if interval[1] < 1:
        return FactorFinding.FELL
    is_within = 1 / (1 + margin) < interval[0] and interval[1] < 1 + margin
    return FactorFinding.UNCHANGED if is_within else FactorFinding.UNKNOWN


def _side(values: Sequence[float]) -> Side:
    """Return the side with at least the spread of the counters' agreement, if it has repeats."""
    side = side_of(values)
    if side.count < 2 or (side.spread and side.spread.variance >= LEAST_SD**2):
        return side
    return Side(side.count, side.mean_log, Spread(LEAST_SD**2, side.count - 1))


def _uncertainty(baseline: Side, contender: Side) -> Uncertainty | None:
    if baseline.spread is None or contender.spread is None:
        return None
    return Uncertainty((ErrorTerm(baseline.count, baseline.spread), ErrorTerm(contender.count, contender.spread)))


def _share_interval(
    column: Sequence[Sequence[float]], totals: Sequence[Sequence[float]], critical_t: float
) -> tuple[float, float] | None:
    """Return Fieller's interval of the factor's share (J. R. Stat. Soc. B 16, 1954); None if it is unbounded.

    It holds every share s for which log factor - s * log ratio may be 0.
    """
    factor, total = _log_ratio(column), _log_ratio(totals)
    var_factor, var_total, covariance = (
        math.fsum(_mean_covariance(first, second) for first, second in zip(x, y, strict=True))
        for x, y in ((column, column), (totals, totals), (column, totals))
    )
    t2 = critical_t**2
    a, b, c = total**2 - t2 * var_total, factor * total - t2 * covariance, factor**2 - t2 * var_factor
    if a <= 0:
        return None
    root = math.sqrt(max(0.0, b**2 - a * c))
    return (b - root) / a, (b + root) / a


def _mean_covariance(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the covariance of the means of two logs over the same starts."""
    x, y = [math.log(value) for value in first], [math.log(value) for value in second]
    products = ((a - fmean(x)) * (b - fmean(y)) for a, b in zip(x, y, strict=True))
    return math.fsum(products) / (len(x) - 1) / len(x)


def _log_ratio(sides: Sequence[Sequence[float]]) -> float:
    baseline, contender = (fmean(map(math.log, side)) for side in sides)
    return contender - baseline
