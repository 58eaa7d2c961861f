"""The range of further repeats that settle a comparison holds in simulation, through the function that judges."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.verdict import EarlierSpread, Judgement, SettlingRepeats, VerdictAnswer, judge
from tests.analysis.verdict.sides import around

OPEN = (VerdictAnswer.UNKNOWN, VerdictAnswer.DIFFERENT)


def is_settled(before: Judgement, after: Judgement) -> bool:
    is_seen_to_differ = after.answer is VerdictAnswer.DIFFERENT and before.answer is VerdictAnswer.UNKNOWN
    return is_seen_to_differ or after.answer not in OPEN


def settled_shares(true_ratio: float, sd: float, repeats: int, comparisons: int) -> tuple[float, float]:
    """The shares of open comparisons that are settled after `low` and after `high` further repeats of each side."""
    rng = np.random.default_rng(7)

    def start(ratio: float, count: int) -> list[float]:
        return list(ratio * np.exp(sd * rng.standard_normal(count)))

    settled: list[tuple[bool, bool]] = []
    while len(settled) < comparisons:
        a, b = start(1.0, repeats), start(true_ratio, repeats)
        before = judge(a, b)
        if before.more_repeats is None or before.more_repeats.high is None:
            continue
        after = (judge(a + start(1.0, more), b + start(true_ratio, more)) for more in before.more_repeats)
        low, high = (is_settled(before, judgement) for judgement in after)
        settled.append((low, high))
    low_share, high_share = np.mean(settled, axis=0)
    return float(low_share), float(high_share)


@pytest.mark.parametrize("true_ratio", [1.0, 1.01])
def test_range_holds_where_one_number_did_not(true_ratio: float) -> None:
    """Three starts each at 3 %: 'about n more' was settled after n in 30 to 79 % of the trials."""
    low, high = settled_shares(true_ratio, 0.03, 3, 120)
    assert low <= 0.3 and 0.68 <= high <= 0.92


@pytest.mark.long
@pytest.mark.parametrize("true_ratio", [1.0, 1.01, 1.03, 1.05])
@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_upper_number_keeps_its_promise(true_ratio: float, repeats: int) -> None:
    _, high = settled_shares(true_ratio, 0.03, repeats, 1000)
    assert high >= 0.7


def test_either_side_may_be_the_baseline() -> None:
    a, b = around(1.0, 0.03, 3), around(1.03, 0.02, 5)
    assert judge(a, b).more_repeats == judge(b, a).more_repeats


@pytest.mark.parametrize("answer", [(1.2, VerdictAnswer.BETTER), (1 / 1.2, VerdictAnswer.WORSE)])
def test_settled_comparisons_need_nothing(answer: tuple[float, VerdictAnswer]) -> None:
    ratio, expected = answer
    settled = judge(around(1.0, 0.01, 3), around(ratio, 0.01, 3))
    assert (settled.answer, settled.more_repeats) == (expected, None)


def test_one_further_repeat_may_be_enough() -> None:
    repeats = judge(around(1.0, 0.02, 2), around(1.085, 0.02, 2)).more_repeats
    assert repeats and repeats.low == 1 and repeats.high and repeats.high > 1


def test_a_thousand_starts_are_the_end_of_the_range() -> None:
    repeats = judge(around(1.0, 0.3, 20), around(1.0, 0.3, 20)).more_repeats
    assert repeats and repeats.high is None


def test_more_noise_takes_more_repeats() -> None:
    few, many = (judge(around(1.0, sd, 4), around(1.0, sd, 4)).more_repeats for sd in (0.02, 0.06))
    assert few and many and few.low <= many.low and few.high and (many.high is None or few.high < many.high)


def test_more_comparisons_take_more_repeats() -> None:
    single, of_five = (
        judge(around(1.0, 0.03, 3), around(1.06, 0.03, 3), comparisons=count).more_repeats for count in (1, 5)
    )
    assert single and of_five and single.high and of_five.high and single.high < of_five.high


def test_single_start_takes_the_earlier_spread() -> None:
    assert isinstance(judge([1.0], [1.05], earlier=EarlierSpread(0.02, 6)).more_repeats, SettlingRepeats)
    assert judge([1.0], [1.05]).more_repeats is None
