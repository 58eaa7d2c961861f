"""The share of right answers over many pairs of known ratio: coverage, false claims and power."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.compare_arms import ArmComparison
from analysis.verdict import VerdictAnswer
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import PacedServer
from tests.known_truth.played_run import PlayedArm

LOAD: dict[str, Any] = {"params": {"tokens": 32, "repeats": 2, "rungs": [1]}}
STARTS = 4
NOISE = 0.015  # between starts


def answers(played: PlayedStore, true_ratio: float, pairs: int) -> list[ArmComparison]:
    """Return the answers of so many pairs by decode speed, none of them refused."""
    slow, fast = PacedServer(start_sd=NOISE), PacedServer(start_sd=NOISE, step_s=0.02 / true_ratio)
    arms = [PlayedArm("a", slow, **LOAD), PlayedArm("b", fast, **LOAD)]
    answers = [played.answer(arms, "decode_tps", STARTS) for _ in range(pairs)]
    assert not any(answer.refused for answer in answers)
    return answers


def covered(comparisons: list[ArmComparison], true_ratio: float) -> int:
    intervals = [answer.judgement.interval for answer in comparisons if answer.judgement and answer.judgement.interval]
    assert len(intervals) == len(comparisons)
    return sum(low <= true_ratio <= high for low, high in intervals)


def count_answers(comparisons: list[ArmComparison], *kinds: VerdictAnswer) -> int:
    return sum(answer.judgement is not None and answer.judgement.answer in kinds for answer in comparisons)


@pytest.mark.wide
def test_few_pairs_of_each_truth(played: PlayedStore) -> None:
    for true_ratio in (1.0, 1.3):
        actual_answers = answers(played, true_ratio, 4)
        assert covered(actual_answers, true_ratio) >= 3
        assert count_answers(actual_answers, VerdictAnswer.BETTER) == (4 if true_ratio > 1 else 0)
        assert count_answers(actual_answers, VerdictAnswer.WORSE) == 0


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_answers_hold_what_they_promise(played: PlayedStore) -> None:
    """Coverage of 94 % at least, false claims in 5 % at most, and a true 1.10 is told."""
    by_truth = {true_ratio: answers(played, true_ratio, 100) for true_ratio in (1.0, 1.05, 1.1, 1.3)}
    total = sum(map(len, by_truth.values()))
    assert sum(covered(value, ratio) for ratio, value in by_truth.items()) >= 0.94 * total
    assert count_answers(by_truth[1.0], VerdictAnswer.BETTER, VerdictAnswer.WORSE) <= 5
    assert (
        count_answers(by_truth[1.1], VerdictAnswer.BETTER) >= 80
        and count_answers(by_truth[1.3], VerdictAnswer.BETTER) >= 99
    )
    assert sum(count_answers(value, VerdictAnswer.WORSE) for value in by_truth.values()) <= 5
