"""Forecast of the remaining server starts of a study, from its current means and spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from analysis.study.race import LEVEL, MIN_STARTS, TIE_LEVEL, ArmState, Race, RaceValues
from analysis.verdict.student_t import quantile


class StartsLeft(NamedTuple):
    """Remaining server starts, at least and at most."""

    low: int
    high: int


def starts_left(
    race_now: Race, values: Mapping[str, Sequence[float]], margin: float, rounds: int, starts: int
) -> StartsLeft:
    """Return the range from one more round to the probably needed number.

    values: arm -> logarithms, as given to `race`. rounds, starts: the remaining budget.
    """
    if race_now.end is not None or not race_now.next_arms:
        return StartsLeft(0, 0)
    missing = [MIN_STARTS - len(values[name]) for name in race_now.next_arms]
    fewest = sum(max(1, count) for count in missing)
    if race_now.leader is None:
        racing_count = sum(seat.state is ArmState.RACING for seat in race_now.seats)
        return StartsLeft(min(fewest, starts), min(starts, racing_count * rounds))
    finished_rounds = MIN_STARTS - max(missing)
    needed = _starts_an_arm(race_now, values, margin, finished_rounds + rounds) - finished_rounds
    most = min(starts, len(race_now.next_arms) * max(1, needed))
    return StartsLeft(min(fewest, most), most)


def _starts_an_arm(race_now: Race, values: Mapping[str, Sequence[float]], margin: float, max_starts: int) -> int:
    """Return the starts until every continuing arm would be proven slower than or equal to the leader."""
    stats = RaceValues({name: logs for name, logs in values.items() if len(logs) >= MIN_STARTS})
    leader = str(race_now.leader)
    rivals = [name for name in race_now.next_arms if name != leader]
    return max(
        (_starts_of_pair(stats, leader, name, margin, len(rivals), max_starts) for name in rivals), default=max_starts
    )


def _starts_of_pair(stats: RaceValues, leader: str, name: str, margin: float, rival_count: int, max_starts: int) -> int:
    difference = stats.mean(leader) - stats.mean(name)
    margin_left = math.log1p(margin) - difference
    sd = math.sqrt(max(stats.pooled_variance, stats.least_sd**2))
    for count in range(MIN_STARTS, max_starts):
        error, df = sd * math.sqrt(2 / count), len(stats.values) * (count - 1)
        is_slower = quantile(1 - LEVEL / 2 / rival_count, df) * error < difference
        if is_slower or quantile(1 - TIE_LEVEL / rival_count, df) * error < margin_left:
            return count
    return max_starts
