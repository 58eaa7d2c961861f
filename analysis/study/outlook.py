"""How many rounds a study probably has left: what its means and its spread would take if they stayed as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from analysis.study.race import FEWEST, LEVEL, TIE_LEVEL, ArmState, Field, Race
from analysis.verdict.student_t import quantile


class Left(NamedTuple):
    """Server starts that are left, at least and at most."""

    low: int
    high: int


def starts_left(race_now: Race, values: Mapping[str, Sequence[float]], margin: float, rounds: int, starts: int) -> Left:
    """Between one more round and what it probably takes.

    values: arm -> logarithms as `race` took them. rounds, starts: what the budget has left of each.
    """
    if race_now.end is not None or not race_now.next_arms:
        return Left(0, 0)
    missing = [FEWEST - len(values[name]) for name in race_now.next_arms]
    fewest = sum(max(1, count) for count in missing)
    if race_now.leader is None:
        in_it = sum(seat.state is ArmState.RACING for seat in race_now.seats)
        return Left(min(fewest, starts), min(starts, in_it * rounds))
    done = FEWEST - max(missing)
    needed = _starts_an_arm(race_now, values, margin, done + rounds) - done
    most = min(starts, len(race_now.next_arms) * max(1, needed))
    return Left(min(fewest, most), most)


def _starts_an_arm(race_now: Race, values: Mapping[str, Sequence[float]], margin: float, most: int) -> int:
    """Until every arm that goes on would be proven slower than the leader, or as good as it."""
    field = Field({name: its for name, its in values.items() if len(its) >= FEWEST})
    leader = str(race_now.leader)
    others = [name for name in race_now.next_arms if name != leader]
    return max((_starts_of_pair(field, leader, name, margin, len(others), most) for name in others), default=most)


def _starts_of_pair(field: Field, leader: str, name: str, margin: float, others: int, most: int) -> int:
    apart = field.mean(leader) - field.mean(name)
    room = math.log1p(margin) - apart
    sd = math.sqrt(max(field.pooled_variance, field.least_sd**2))
    for count in range(FEWEST, most):
        error, df = sd * math.sqrt(2 / count), len(field.values) * (count - 1)
        is_slower = quantile(1 - LEVEL / 2 / others, df) * error < apart
        if is_slower or quantile(1 - TIE_LEVEL / others, df) * error < room:
            return count
    return most
