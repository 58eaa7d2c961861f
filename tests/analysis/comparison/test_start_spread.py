"""The spread between starts with speculation, by its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from analysis.comparison.replicates import Replicate
from analysis.comparison.start_spread import start_spread
from analysis.evidence.factors import SpeedFactors
from analysis.evidence.measure import Measurement


def starts(pairs: Sequence[tuple[float, float]]) -> list[Replicate]:
    """One start for each pair of tokens per step and steps/s."""
    return [
        Replicate(str(number), tokens * steps, (Measurement(tokens * steps, factors=SpeedFactors(tokens, steps)),))
        for number, (tokens, steps) in enumerate(pairs)
    ]


def test_spread_comes_from_the_part_that_varies() -> None:
    spread = start_spread(starts([(2.0, 50.0), (2.0 * math.exp(0.1), 50.0)]))
    assert spread and spread.starts == 2 and spread.steps_per_s == 0.0
    assert spread.value == pytest.approx(spread.tokens_per_step) == pytest.approx(0.1 / math.sqrt(2))


@pytest.mark.parametrize(
    "replicates",
    [
        starts([(2.0, 50.0)]),
        starts([(1.0, 50.0), (1.0, 40.0)]),
        [*starts([(2.0, 50.0), (2.0, 40.0)]), Replicate("without factors", 90.0)],
    ],
    ids=["one start", "no drafts", "a start without factors"],
)
def test_no_spread_by_parts(replicates: list[Replicate]) -> None:
    assert start_spread(replicates) is None
