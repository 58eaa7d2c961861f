"""The smallest difference that matters: how it is written, and that everything is judged by the one that is set."""

from __future__ import annotations

import inspect

import pytest

from analysis.compare_arms import compare_arms
from analysis.verdict import (
    MARGIN,
    UnknownMarginError,
    VerdictAnswer,
    format_margin,
    judge,
    parse_margin,
)
from benchmarks.simulations.planned_repeats import repeats_for_same


@pytest.mark.parametrize(
    ("text", "share"),
    [("5%", 0.05), ("5 %", 0.05), (" 2.5% ", 0.025), ("0.05", 0.05), (".1", 0.1), ("0.1%", 0.001), ("50%", 0.5)],
)
def test_a_share_is_read_in_both_forms(text: str, share: float) -> None:
    assert parse_margin(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "5", "0", "0%", "-5%", "0.05%", "51%", "nan", "inf", "1e-2", "5%%", "five", "%"])
def test_invalid_margin_is_refused_with_range(text: str) -> None:
    with pytest.raises(UnknownMarginError) as error:
        parse_margin(text)
    assert f"cannot be {text!r}" in str(error.value) and "from 0.1 % to 50 %." in str(error.value)


def test_words() -> None:
    assert [format_margin(margin) for margin in (MARGIN, 0.025, 0.001, 0.5)] == ["2 %", "2.5 %", "0.1 %", "50 %"]


@pytest.mark.parametrize("judging", [judge, compare_arms, repeats_for_same])
def test_two_per_cent_stands_in_one_place(judging: object) -> None:
    assert inspect.signature(judging).parameters["margin"].default is MARGIN  # type: ignore[arg-type]


def test_the_answer_is_judged_by_the_margin() -> None:
    first, second = (100.0, 100.1, 99.9), (103.0, 103.1, 102.9)
    assert judge(first, second).answer is VerdictAnswer.BETTER
    assert judge(first, second, margin=0.03).answer is VerdictAnswer.DIFFERENT
    assert judge(first, second, margin=0.05).answer is VerdictAnswer.SAME
    assert judge(first, second, margin=0.029, higher_is_better=False).answer is VerdictAnswer.DIFFERENT


def test_a_wider_margin_takes_fewer_repeats() -> None:
    needed = [repeats_for_same(0.02, margin) for margin in (0.01, MARGIN, 0.05)]
    assert None not in needed and sorted(needed, reverse=True) == needed and len(set(needed)) == 3  # type: ignore[type-var]
