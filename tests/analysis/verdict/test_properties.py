"""Things that must not matter: which side is the baseline, the unit, and the order of the repeats."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.verdict import Judgement, VerdictAnswer, interval_of_ratio, judge

SIDES = st.lists(st.integers(500, 2000).map(lambda n: n / 1000), min_size=1, max_size=6)  # alike, or clearly not
SWAPPED = {VerdictAnswer.BETTER: VerdictAnswer.WORSE, VerdictAnswer.WORSE: VerdictAnswer.BETTER}
DIRECTIONS = st.booleans()


def is_clear(judgement: Judgement) -> bool:
    """Whether no bound lies so near a limit that rounding decides."""
    bounds = [*(judgement.interval or ()), *(judgement.equivalence or ())]
    return all(abs(bound / limit - 1) > 1e-9 for bound in bounds for limit in (1 / 1.02, 1.0, 1.02))


def inverted(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (1 / interval[1], 1 / interval[0])


def close(interval: tuple[float, float] | None) -> object:
    return None if interval is None else pytest.approx(interval, rel=1e-7)


@given(SIDES, SIDES, DIRECTIONS)
def test_swapping_the_sides_inverts_the_ratio(a: list[float], b: list[float], up: bool) -> None:
    there, back = judge(a, b, higher_is_better=up), judge(b, a, higher_is_better=up)
    assume(is_clear(there) and is_clear(back))
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.interval == close(inverted(there.interval))
    assert back.equivalence == close(inverted(there.equivalence))
    assert back.answer is SWAPPED.get(there.answer, there.answer)
    assert back.replicates == there.replicates[::-1]
    assert back.more_repeats == there.more_repeats


@given(SIDES, SIDES, st.floats(1e-6, 1e6))
def test_the_unit_changes_nothing(a: list[float], b: list[float], unit: float) -> None:
    plain, scaled = judge(a, b), judge([unit * x for x in a], [unit * x for x in b])
    assume(is_clear(plain) and is_clear(scaled))
    assert scaled.ratio == pytest.approx(plain.ratio)
    assert scaled.interval == close(plain.interval)
    assert (scaled.answer, scaled.sd_source, scaled.replicates) == (plain.answer, plain.sd_source, plain.replicates)


@given(SIDES, SIDES, st.randoms(use_true_random=False))
def test_the_order_of_the_repeats_changes_nothing(a: list[float], b: list[float], random: object) -> None:
    shuffled = [random.sample(side, len(side)) for side in (a, b)]  # type: ignore[attr-defined]
    assert judge(*shuffled) == judge(a, b)


@given(SIDES, SIDES)
def test_higher_level_widens_the_interval(a: list[float], b: list[float]) -> None:
    found = judge(a, b)
    narrow, wide = interval_of_ratio(a, b, 0.90), interval_of_ratio(a, b, 0.99)
    assert (narrow is None) == (found.interval is None)
    if found.interval and narrow and wide:
        assert wide[0] < found.interval[0] < narrow[0] < found.ratio < narrow[1] < found.interval[1] < wide[1]


@given(SIDES, SIDES, DIRECTIONS)
def test_the_answer_is_what_the_intervals_say(a: list[float], b: list[float], up: bool) -> None:
    found = judge(a, b, higher_is_better=up)
    assume(is_clear(found))
    if found.interval is None or found.equivalence is None:
        assert found.answer in (VerdictAnswer.UNKNOWN, VerdictAnswer.SEEN_ONCE)
        return
    low, high = found.interval
    truth = {
        VerdictAnswer.BETTER: low > 1.02 if up else high < 1 / 1.02,
        VerdictAnswer.WORSE: high < 1 / 1.02 if up else low > 1.02,
        VerdictAnswer.SAME: found.equivalence[0] > 1 / 1.02 and found.equivalence[1] < 1.02,
        VerdictAnswer.DIFFERENT: not low <= 1 <= high,
        VerdictAnswer.UNKNOWN: True,
    }
    assert found.answer is next(answer for answer, holds in truth.items() if holds)
    assert math.isfinite(found.ratio)
