"""Predictions for other draft lengths: each bound by hand, in its direction, and by simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from analysis.evidence.drafting import accepted_shares
from analysis.study import ArmState, MeasuredK, RaceEnd, StudyChoice, choose_k, race
from analysis.study.prediction import fewest_tokens, most_tokens, predict, slack_of
from benchmarks.simulations.value_simulation import COSTS, TEXTS, Cell, cells, draft_counts, simulate, true_log_speed
from tests.analysis.comparison.hand_made import load, mark, streams

SHARES = (0.8, 0.6, 0.5)
TRIALS = 60
TELLING = ("0.85 by chance; free;", "free up to 7, then 2 %; k 1, 2, 3, 4, 6, 8; 3%", "look-up); 8 % a draft; k 0")


def measured(k: int, speed: float, *shares: float) -> MeasuredK:
    return MeasuredK(f"k {k}", k, math.log(speed), (shares,))


def speeds(k: int, *runs: MeasuredK, gain: float | None = None) -> list[float | None]:
    told = predict(k, runs, gain)
    return [None if one is None else pytest.approx(math.exp(one.log_speed)) for one in (told.low, told.high)]


def test_smaller_k_has_at_least_leading_shares() -> None:
    assert [fewest_tokens(SHARES, k) for k in range(4)] == pytest.approx([1.0, 1.8, 2.4, 2.9])
    assert fewest_tokens(SHARES, 9) == pytest.approx(2.9)


def test_easy_stretches_raise_tokens_at_smaller_k() -> None:
    """A tenth of the steps accept all of 8, the others none; at k = 2 that tenth becomes three times as many."""
    assert most_tokens([0.1] * 8, 2) == pytest.approx(1.8 / (0.9 + 0.3))
    assert fewest_tokens([0.1] * 8, 2) == pytest.approx(1.2)
    assert most_tokens(SHARES, 3) == pytest.approx(fewest_tokens(SHARES, 3))
    assert most_tokens(SHARES, 0) == pytest.approx(1.0)


@pytest.mark.parametrize("name", TEXTS)
def test_true_value_lies_between_the_bounds(name: str) -> None:
    """The truth in tokens per step: the cost of a step is left out."""
    for k in (1, 2, 3, 4, 6):
        cell = Cell(name, TEXTS[name], COSTS["free"], (k,), 0.0)
        true, shares = math.exp(true_log_speed(cell, k)), [one.shares for one in draft_counts(cell.text, 8)]
        low, high = (sum(bound(share, k) for share in shares) / len(shares) for bound in (fewest_tokens, most_tokens))
        assert low * 0.98 < true < high * 1.02


def test_one_run_bounds_a_smaller_k_on_both_sides() -> None:
    """29 tok/s at 2.9 tokens a step are 10 steps/s; of k = 1 they are 10 at least, and 10 x 4 / 2 at most."""
    assert speeds(1, measured(3, 29.0, *SHARES)) == [18.0, 20 * most_tokens(SHARES, 1)]
    assert speeds(1, measured(3, 29.0, *SHARES), gain=1.5) == [18.0, 15 * most_tokens(SHARES, 1)]
    assert speeds(4, measured(3, 29.0, *SHARES)) == [None, None]


def test_measured_smaller_k_bounds_steps_between() -> None:
    """12 steps/s without drafts: k = 2 makes no more."""
    plain, long = measured(0, 12.0), measured(3, 29.0, *SHARES)
    assert speeds(2, plain, long) == [24.0, 12 * most_tokens(SHARES, 2)]


def test_contradictory_runs_leave_the_gap_open() -> None:
    """A long draft of 10 steps/s, and a plain one of only 5, which would have to be the faster one."""
    slow, long = measured(0, 5.0), measured(3, 29.0, *SHARES)
    assert speeds(2, slow, long) == [5 * most_tokens(SHARES, 2), 24.0]


def test_without_shares_nothing_is_predicted() -> None:
    silent = MeasuredK("k 3", 3, math.log(29.0))
    assert predict(1, [silent]) == predict(1, [])
    assert choose_k({"k 1": 1, "k 2": 2, "k 3": 3}, {"k 3": silent}).probe is None


def choice_of(
    ks: Mapping[str, int], *runs: MeasuredK, failed: tuple[str, ...] = (), sd: float | None = None
) -> StudyChoice:
    return choose_k(ks, {run.name: run for run in runs}, failed, sd)


def test_largest_then_smallest_then_the_rest() -> None:
    ks = {f"k {k}": k for k in (0, 2, 3)}
    plain, long = measured(0, 12.0), measured(3, 29.0, *SHARES)
    assert choice_of(ks).probe == "k 3"
    assert choice_of(ks, long).probe == "k 0"
    choice = choice_of(ks, long, plain)
    assert (choice.probe, choice.excluded) == (None, ())  # 24 to 29.4 may be best
    assert {one.arm for one in (choice.predicted["k 0"].low, choice.predicted["k 0"].high) if one} == {
        "k 3"
    }  # by others, though it ran
    slow = measured(0, 10.0)
    assert choice_of(ks, measured(3, 58.0, *SHARES), slow).excluded == ("k 2",)
    assert choice_of(ks, plain, failed=("k 3",)).probe is None  # two are left


def test_it_is_careful_where_starts_are_far_apart() -> None:
    ks = {f"k {k}": k for k in (0, 2, 3)}
    runs = measured(3, 29.0, *SHARES), measured(0, 29.0 / most_tokens(SHARES, 2) / 1.1)
    assert choice_of(ks, *runs).excluded == ("k 2",)
    assert choice_of(ks, *runs, sd=0.05).excluded == ()
    assert slack_of(None) == slack_of(0.01) == pytest.approx(0.0698, abs=1e-4)


def test_first_arm_starts_and_two_arms_remain() -> None:
    ks = {"k 2": 2, "k 0": 0, "k 3": 3}
    runs = measured(3, 58.0, *SHARES), measured(0, 10.0)
    assert choice_of(ks, *runs).excluded == ()
    told = choose_k({"k 3": 3, "k 2": 2, "k 1": 1}, {"k 3": runs[0]}, most_step_gain=1.01)
    assert (told.probe, told.excluded) == (None, ("k 1",))  # k 2, the more promising one, is left to be measured


def test_a_predicted_arm_is_outside_the_race() -> None:
    logs = {"a": [math.log(v) for v in (100.0, 100.5)], "b": [], "c": [math.log(v) for v in (130.0, 130.5)]}
    actual_race = race(logs, 0.02, excluded=("b",))
    assert (actual_race.end, actual_race.leader) == (RaceEnd.WINNER, "c")
    assert (actual_race.seats[1].state, actual_race.seats[1].ratio) == (ArmState.PREDICTED, None)


def test_shares_cover_all_measured_steps() -> None:
    """20 tokens of two requests: 18 after the first in 9 steps, of which 6 drafted; the warm-up is not in it."""
    fields = {"first_tokens": 2.0, "inter_token_count": 9.0, "accepted_tokens": 9.0, "accepted_per_pos": [6.0, 3.0]}
    before = mark(
        0, 100.0, first_tokens=5.0, inter_token_count=50.0, accepted_tokens=50.0, accepted_per_pos=[40.0, 10.0]
    )
    after = mark(
        1, 120.0, first_tokens=7.0, inter_token_count=59.0, accepted_tokens=59.0, accepted_per_pos=[46.0, 13.0]
    )
    one = load(streams(2), [before, after])
    assert accepted_shares(one, one.measured, None) == pytest.approx((6 / 9, 3 / 9))
    begun = load(streams(2), [mark(0, 0.0), mark(1, 20.0, **fields)])  # type: ignore[arg-type]
    assert accepted_shares(begun, begun.measured, None) == pytest.approx((6 / 9, 3 / 9))
    assert accepted_shares(one, one.measured, False) == ()
    silent = load(streams(2), [mark(0, 0.0), mark(1, 20.0, first_tokens=2.0, inter_token_count=18.0)])
    assert accepted_shares(silent, silent.measured, None) is None


@pytest.mark.wide
@pytest.mark.parametrize("words", TELLING)
def test_the_best_is_hardly_ever_predicted_away(words: str) -> None:
    for cell in cells():
        if words in cell.title:
            simulation = simulate(cell, TRIALS)
            assert simulation.pruned_best <= 0.05
            assert simulation.wrong <= 0.05 + 2.33 * math.sqrt(0.05 * 0.95 / TRIALS)
            if words == TELLING[0]:
                assert simulation.away >= 1.5 and simulation.starts < simulation.starts_of_race
