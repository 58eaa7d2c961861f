"""The race of arms: what it may claim, held by simulation with fixed seeds, and the rules one by one."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import fmean

import pytest

from analysis.study import ArmState, RaceEnd, race
from benchmarks.simulations.study_simulation import CELLS, ROUNDS, fixed_design, simulate

TRIALS = 200
SEED = 7
SHARE_OF_FIXED = 0.6


def logs(*values: float) -> list[float]:
    return [math.log(value) for value in values]


@pytest.mark.wide
@pytest.mark.parametrize("name", CELLS)
def test_wrong_winners_are_rare_and_runs_bounded(name: str) -> None:
    truth, sds = CELLS[name]
    simulation = simulate(truth, sds, TRIALS, random.Random(SEED))
    slack = 2.33 * math.sqrt(0.05 * 0.95 / TRIALS)  # of so few trials; `make soak` runs 10,000
    assert simulation.wrong <= 0.05 + slack
    assert simulation.most_starts <= ROUNDS * len(truth)


def test_two_equal_arms_end_as_the_same() -> None:
    truth, sds = CELLS["2 equal, 1 %"]
    assert simulate(truth, sds, TRIALS, random.Random(SEED)).same > 0.9


def test_a_difference_within_the_margin_wins_nothing() -> None:
    """Truly 1.01, where 2 % is the smallest difference that matters: such a study once named a winner in 16 %."""
    truth, sds = CELLS["2, 1 % apart, 0.5 %"]
    assert simulate(truth, sds, TRIALS, random.Random(SEED)).winner <= 0.05


@pytest.mark.wide
def test_many_arms_take_60_percent_of_fixed_runs() -> None:
    shares = []
    for truth, sds in (CELLS[name] for name in CELLS if name[0] in "468" and "equal" not in name):
        simulation = simulate(truth, sds, TRIALS, random.Random(SEED))
        fixed = fixed_design(truth, sds[0], simulation.winner, 1000, random.Random(SEED))
        if fixed >= 5 * len(truth):
            shares.append(simulation.starts / fixed)
    assert len(shares) >= 5
    assert fmean(shares) <= SHARE_OF_FIXED + 0.03  # of so few trials


def test_no_answer_before_two_starts_each() -> None:
    actual_race = race({"a": logs(100.0, 101.0), "b": logs(50.0)}, 0.02)
    assert (actual_race.end, actual_race.next_arms) == (None, ("b",))
    assert {seat.state for seat in actual_race.seats} == {ArmState.RACING}


def test_clear_winner_has_its_ratio_to_first_arm() -> None:
    actual_race = race({"a": logs(100.0, 100.5, 99.5), "b": logs(130.0, 130.5, 129.5)}, 0.02)
    assert (actual_race.end, actual_race.leader) == (RaceEnd.WINNER, "b")
    first, second = actual_race.seats
    assert (first.ratio, first.state, second.state) == (1.0, ArmState.OUT, ArmState.RACING)
    assert second.ratio == pytest.approx(1.3, rel=0.01)
    assert second.interval[0] < 1.3 < second.interval[1]


def test_equal_arms_are_the_same_and_not_a_winner() -> None:
    values = {name: logs(100.0, 100.2, 99.8, 100.1) for name in "ab"}
    assert race(values, 0.02).end is RaceEnd.SAME


def test_failed_arm_drops_out_and_others_continue() -> None:
    actual_race = race({"a": logs(100.0, 100.5, 99.5), "b": [], "c": logs(130.0, 130.5, 129.5)}, 0.02, failed=["b"])
    assert (actual_race.end, actual_race.leader) == (RaceEnd.WINNER, "c")
    assert actual_race.seats[1].state is ArmState.FAILED
    assert race({"a": [], "b": []}, 0.02, failed=["a", "b"]).end is RaceEnd.FAILED


def test_last_arm_after_failures_wins_nothing() -> None:
    actual_race = race({"a": logs(100.0), "b": []}, 0.02, failed=["b"])
    assert (actual_race.end, actual_race.next_arms) == (RaceEnd.UNKNOWN, ()), "and it starts no more"
    assert race({"a": [], "b": []}, 0.02, failed=["b"]).end is None, "its first start is waited for"


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "a")])
def test_unrankable_arms_eliminate_no_arm(pair: tuple[str, str]) -> None:
    apart = {"a": logs(100.0, 100.5, 99.5), "b": logs(130.0, 130.5, 129.5)}
    assert race(apart, 0.02, refused=[pair]).end is None
    alike = {name: logs(100.0, 100.2, 99.8, 100.1) for name in "ab"}
    assert race(alike, 0.02, refused=[pair]).end is None


def test_beaten_arms_rest_until_none_else_remain() -> None:
    close: Sequence[float] = logs(100.0, 102.0, 98.0, 100.0)
    behind = logs(96.0, 98.0, 94.0, 96.0)
    rival = logs(99.8, 102.4, 97.8, 100.0)
    actual_race = race({"a": close, "b": behind, "c": rival}, 0.02)
    states = {seat.name: seat.state for seat in actual_race.seats}
    assert states["b"] is ArmState.RESTING
    assert set(actual_race.next_arms) == {"a", "c"}
    alone = race({"a": close, "b": behind}, 0.02)
    assert set(alone.next_arms) == {"a", "b"}


def test_resting_arm_starts_if_the_others_are_equal() -> None:
    """Nothing more is to be learned of the two; the third is not proven slower yet, so there is no tie."""
    equal = {"a": logs(100.0, 101.0, 99.0, 100.0), "c": logs(99.8, 101.2, 98.9, 100.0)}
    actual_race = race(equal | {"b": logs(98.0, 99.0, 97.0, 98.0)}, 0.02)
    assert (actual_race.end, actual_race.next_arms) == (None, ("b",))
    assert race(equal, 0.02).end is RaceEnd.SAME


def test_stepped_values_are_not_taken_as_exact() -> None:
    """Two searches that both ended at 8, and two at 9: nothing scatters, and nothing is proven."""
    values = {"a": logs(8.0, 8.0), "b": logs(9.0, 9.0)}
    assert race(values, 0.02).end is RaceEnd.WINNER
    assert race(values, 0.02, least_sd=0.1 / math.sqrt(12)).end is None
