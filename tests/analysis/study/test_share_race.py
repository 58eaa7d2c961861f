"""The race by solved tasks: when it names a winner, and how often it would name one by chance."""

from __future__ import annotations

import random

import pytest

from analysis.loads.agent_tasks import SolvedCount
from analysis.study import ArmState, RaceEnd
from analysis.study.share_race import share_race


def starts(*solved: int, n: int = 5) -> list[SolvedCount]:
    return [SolvedCount(count, n) for count in solved]


def test_arm_that_solves_more_wins() -> None:
    race = share_race({"a": starts(1, 1), "b": starts(5, 4)}, looks=2)
    assert (race.end, race.leader, race.next_arms) == (RaceEnd.WINNER, "b", ())
    assert [seat.state for seat in race.seats] == [ArmState.OUT, ArmState.RACING]


def test_nearly_equal_arms_go_on() -> None:
    race = share_race({"a": starts(3, 2), "b": starts(3, 3)}, looks=2)
    assert (race.end, race.leader, race.next_arms) == (None, "b", ("a", "b"))


def test_more_looks_need_more_evidence() -> None:
    counts = {"a": starts(1, 1), "b": starts(5, 4)}
    assert share_race(counts, looks=9).end is RaceEnd.WINNER
    assert share_race(counts, looks=10).end is None
    assert share_race(counts | {"c": starts(1, 1)}, looks=4).end is None, "three pairs share the level"


def test_refused_pairs_and_failed_arms_are_not_ranked() -> None:
    counts = {"a": starts(0, 0), "b": starts(5, 5)}
    assert share_race(counts, 2, refused=[("a", "b")]).end is None
    alone = share_race(counts, 2, failed=["a"])
    assert (alone.end, alone.next_arms, alone.seats[0].state) == (RaceEnd.UNKNOWN, (), ArmState.FAILED)
    assert share_race({"a": [], "b": starts(5)}, 2).next_arms == ("a",)
    assert share_race({"a": [], "b": []}, 2, failed=["a", "b"]).end is RaceEnd.FAILED


@pytest.mark.wide
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_equal_arms_seldom_have_a_winner(share: float) -> None:
    """1,000 studies of three equal arms, ten looks at five repeats each: fewer than 5 % name a winner."""
    draw, studies, wrong = random.Random(7), 1000, 0
    for _ in range(studies):
        counts: dict[str, list[SolvedCount]] = {name: [] for name in "abc"}
        for _ in range(10):
            for name in counts:
                counts[name].append(SolvedCount(sum(draw.random() < share for _ in range(5)), 5))
            if share_race(counts, looks=10).end is RaceEnd.WINNER:
                wrong += 1
                break
    assert wrong / studies < 0.05
