"""The spread between starts with speculation, by its parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.replicates import Replicate
from analysis.comparison.start_spread import start_spread
from analysis.evidence.factors import SpeedFactors
from analysis.evidence.measure import Measurement
from analysis.evidence.objectives import parse_objective
from reports.arms.comparison import ComparisonReport
from tests.analysis.comparison.hand_made import arm, load, run, streams
from web.compare.answer.report_notes import spread_notes


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


def test_compare_notes_the_spread_of_each_arm() -> None:
    arms, objective = (arm(run("a", load(streams(3)))), arm(run("b", load(streams(3))))), parse_objective("decode_tps")
    plain, drafting = starts([(1.0, 50.0), (1.0, 51.0)]), starts([(2.0, 50.0), (2.2, 50.0)])
    [answer] = compare_arms(arms, objective)
    answers = (replace(answer, replicates=(tuple(plain), tuple(drafting))),)
    assert spread_notes(ComparisonReport(arms, objective, (objective,), answers)) == [
        "b: between its 2 starts the speed varies by 6.7 % (standard deviation), tokens per step by 6.7 % and steps/s "
        "by 0.0 %."
    ]
