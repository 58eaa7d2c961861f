"""The spread between server starts, and which factor of the speed it comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev

from analysis.comparison.replicates import Replicate

FEWEST_STARTS = 2


@dataclass(frozen=True, slots=True)
class StartSpread:
    """Standard deviations of logs between the starts of one arm: 0.04 is about 4 %. One of two starts is rough."""

    starts: int
    value: float
    tokens_per_step: float
    steps_per_s: float


def start_spread(replicates: Sequence[Replicate]) -> StartSpread | None:
    """Return the spread of an arm's starts by its parts.

    None with fewer than two starts, if a start has no factors, or if none accepts drafts: every step then yields one
    token, and the spread is that of the steps.
    """
    pairs = [(replicate.value, replicate.factors) for replicate in replicates if replicate.value is not None]
    values = [(value, factors) for value, factors in pairs if factors is not None]
    if len(values) < max(FEWEST_STARTS, len(pairs)) or all(factors.tokens_per_step <= 1.0 for _, factors in values):
        return None
    return StartSpread(
        len(values),
        _sd_log([value for value, _ in values]),
        _sd_log([factors.tokens_per_step for _, factors in values]),
        _sd_log([factors.steps_per_s for _, factors in values]),
    )


def _sd_log(values: Sequence[float]) -> float:
    return stdev(map(math.log, values))
