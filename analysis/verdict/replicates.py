"""One side of a comparison: its replicates' values on the log scale, and what is known of their spread.

A replicate is one server start under one load; its value is one positive number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FEWEST_EARLIER_DF = 6  # of earlier repeats, below which their sd is too vague to serve for others
ALIKE = 1e-9  # an sd of logs below this is no spread but rounding


@dataclass(frozen=True, slots=True)
class Earlier:
    """The sd of log values of earlier repeats: the same workload, objective, engine and machine."""

    sd_log: float
    df: float

    def __post_init__(self) -> None:
        if not (0 < self.sd_log < math.inf and 0 < self.df < math.inf):
            raise ValueError(f"Earlier repeats need a positive sd and df, not {self.sd_log} and {self.df}.")

    @property
    def serves(self) -> bool:
        return self.df >= FEWEST_EARLIER_DF


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of the log of one replicate, as estimated with `df` degrees of freedom."""

    variance: float
    df: float
    is_own: bool = True  # else of earlier repeats


@dataclass(frozen=True, slots=True)
class Side:
    """`spread` is None where it is not known: one replicate, or values that are all alike."""

    count: int
    mean_log: float
    spread: Spread | None


def side_of(values: Sequence[float], earlier: Earlier | None = None) -> Side:
    """The side with these replicates. ValueError where there is none, or one that is not positive and finite."""
    logs = _logs(values)
    mean = math.fsum(logs) / len(logs)
    return Side(len(logs), mean, _own_spread(logs, mean) or _earlier_spread(earlier))


def earlier_of(groups: Iterable[Sequence[float]]) -> Earlier | None:
    """The sd within groups, each the repeats of one configuration. None where no group has a spread."""
    sides = [side_of(values) for values in groups]
    spreads = [side.spread for side in sides if side.spread]
    df = math.fsum(one.df for one in spreads)
    return Earlier(math.sqrt(math.fsum(one.variance * one.df for one in spreads) / df), df) if spreads else None


def _logs(values: Sequence[float]) -> list[float]:
    if not len(values):
        raise ValueError("A side of a comparison needs at least one replicate.")
    wrong = [value for value in values if not 0 < value < math.inf]
    if wrong:
        raise ValueError(f"A replicate's value must be positive and finite, not {wrong[0]}.")
    return [math.log(value) for value in values]


def _own_spread(logs: Sequence[float], mean: float) -> Spread | None:
    """None for values all alike: that shows how coarsely they were taken, not that the next one will be the same."""
    df = len(logs) - 1
    variance = math.fsum((one - mean) ** 2 for one in logs) / df if df else 0.0
    return Spread(variance, df) if variance > ALIKE**2 else None


def _earlier_spread(earlier: Earlier | None) -> Spread | None:
    return Spread(earlier.sd_log**2, earlier.df, is_own=False) if earlier and earlier.serves else None
