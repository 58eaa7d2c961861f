"""One side of a comparison: its replicates' values on the log scale and their spread.

A replicate is one server start under one load; its value is one positive number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FEWEST_EARLIER_DF = 6  # of earlier repeats; with fewer, their sd is too uncertain to reuse
ROUNDING_SD = 1e-9  # a standard deviation of logs below this is rounding, not spread


@dataclass(frozen=True, slots=True)
class EarlierSpread:
    """The sd of log values of earlier repeats with the same workload, objective, engine and machine."""

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
    """The variance of the log of one replicate, estimated with `df` degrees of freedom."""

    variance: float
    df: float
    is_own: bool = True  # False: from earlier repeats


@dataclass(frozen=True, slots=True)
class Side:
    """Log mean and spread of one side; `spread` None: unknown, with one replicate or equal values."""

    count: int
    mean_log: float
    spread: Spread | None


def side_of(values: Sequence[float], earlier: EarlierSpread | None = None) -> Side:
    """Return the side with these replicates. ValueError without replicates or if one is not positive and finite."""
    logs = _logs(values)
    mean = math.fsum(logs) / len(logs)
    return Side(len(logs), mean, _own_spread(logs, mean) or _earlier_spread(earlier))


def pool_earlier_spread(groups: Iterable[Sequence[float]]) -> EarlierSpread | None:
    """Pool the sd within groups, each the repeats of one configuration. None if no group has a spread."""
    sides = [side_of(values) for values in groups]
    spreads = [side.spread for side in sides if side.spread]
    df = math.fsum(spread.df for spread in spreads)
    return (
        EarlierSpread(math.sqrt(math.fsum(spread.variance * spread.df for spread in spreads) / df), df)
        if spreads
        else None
    )


def _logs(values: Sequence[float]) -> list[float]:
    if not len(values):
        raise ValueError("A side of a comparison needs at least one replicate.")
    invalid_values = [value for value in values if not 0 < value < math.inf]
    if invalid_values:
        raise ValueError(f"A replicate's value must be positive and finite, not {invalid_values[0]}.")
    return [math.log(value) for value in values]


def _own_spread(logs: Sequence[float], mean: float) -> Spread | None:
    """Return the spread; None for equal values, which show coarse measurement, not that the next one will be equal."""
    df = len(logs) - 1
    variance = math.fsum((log_value - mean) ** 2 for log_value in logs) / df if df else 0.0
    return Spread(variance, df) if variance > ROUNDING_SD**2 else None


def _earlier_spread(earlier: EarlierSpread | None) -> Spread | None:
    return Spread(earlier.sd_log**2, earlier.df, is_own=False) if earlier and earlier.serves else None
