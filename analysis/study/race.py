"""A race of arms: after each round of one server start an arm, who is out, who rests, and whether the answer is known.

Values are logarithms of replicates. The spread between starts is pooled over the arms; where the two arms that are held
against each other scatter more than that, theirs counts. `LEVEL` is that of one look, Bonferroni over the arms: by
simulation (benchmarks/simulations/study_simulation.py) ten looks at it name a wrong winner in fewer than 5 % of
studies.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import fmean

from analysis.verdict.student_t import quantile

LEVEL = 0.005  # two-sided, of one look
TIE_LEVEL = 0.05  # one-sided, of one look: both bounds of every difference lie within the margin
FEWEST = 2  # starts an arm, before anything is said


class ArmState(StrEnum):
    """How one arm stands in a race; only those racing or resting may still be best."""

    RACING = "racing"
    RESTING = "resting"  # it cannot beat the leader by the margin any more, and is not proven slower
    OUT = "out"  # slower than the leader
    PREDICTED = "predicted"  # it does not start: other arms' runs show that it cannot be best, or does not fit
    TRIED = "tried"  # of many combinations, it started once and was not among the best
    FAILED = "failed"  # its server does not start, or gives no value


class End(StrEnum):
    """What a race ends with: one arm that is best, arms that are the same, or why there is neither."""

    WINNER = "winner"
    SAME = "same"
    UNKNOWN = "unknown"
    FAILED = "failed"
    MEASURED = "measured"  # one arm alone, as often as asked for


@dataclass(frozen=True, slots=True)
class Seat:
    """How one arm stands; ratio and interval are to the first arm of the study, by the level of a look."""

    name: str
    starts: int
    state: ArmState
    ratio: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Race:
    """Where a study stands after its last whole round."""

    seats: tuple[Seat, ...]
    next_arms: tuple[str, ...]  # that start in the next round
    leader: str | None = None
    end: End | None = None  # None: it goes on


@dataclass(frozen=True, slots=True)
class Field:
    """The arms that have values, with what is computed of them once."""

    values: Mapping[str, Sequence[float]]
    least_sd: float = 0.0  # of one value, by how finely it is measured

    def mean(self, name: str) -> float:
        """The mean of the logarithms of this arm's replicates."""
        return fmean(self.values[name])

    def variance(self, name: str) -> float:
        """The variance of one replicate of this arm, over n - 1; the arm needs two replicates."""
        return sum((value - self.mean(name)) ** 2 for value in self.values[name]) / (len(self.values[name]) - 1)

    @property
    def df(self) -> int:
        return sum(len(values) - 1 for values in self.values.values())

    @property
    def pooled_variance(self) -> float:
        return sum(self.variance(name) * (len(self.values[name]) - 1) for name in self.values) / self.df

    def error(self, one: str, other: str) -> float:
        """Standard error of the difference of two arms' means."""
        counts = len(self.values[one]), len(self.values[other])
        pooled = self.pooled_variance * (1 / counts[0] + 1 / counts[1])
        own = self.variance(one) / counts[0] + self.variance(other) / counts[1]
        return math.sqrt(max(pooled, own, self.least_sd**2 * (1 / counts[0] + 1 / counts[1])))


def sd_of_starts(values: Mapping[str, Sequence[float]]) -> float | None:
    """Between starts of one arm, pooled; None before any has two."""
    field = Field({name: its for name, its in values.items() if len(its) > 1})
    return math.sqrt(field.pooled_variance) if field.values else None


def race(
    values: Mapping[str, Sequence[float]],
    margin: float,
    failed: Sequence[str] = (),
    refused: Sequence[tuple[str, str]] = (),
    least_sd: float = 0.0,
    away: Collection[str] = (),
    tried: Collection[str] = (),
) -> Race:
    """Judge the rounds so far.

    values: arm -> logarithms of its replicates, higher is better, in the order of the study. margin: the smallest
    difference that matters, as a share. failed: arms that cannot run. refused: pairs that may not be ranked against
    each other, which therefore neither puts an arm out nor shows that two are the same. least_sd: of one value, where
    it is only known in steps. away: arms that are predicted and do not start. tried: those that do not race.
    """
    outside = (
        dict.fromkeys(tried, ArmState.TRIED)
        | dict.fromkeys(away, ArmState.PREDICTED)
        | dict.fromkeys(failed, ArmState.FAILED)
    )
    racing = {name: list(its) for name, its in values.items() if name not in outside}
    if len(racing) == 1 and failed and all(racing.values()):  # no further start has anything to be held against
        seats = (Seat(n, len(v), outside.get(n, ArmState.RACING)) for n, v in values.items())
        return Race(tuple(seats), (), next(iter(racing)), End.UNKNOWN)
    if not racing or any(len(its) < FEWEST for its in racing.values()):
        seats = (Seat(n, len(v), outside.get(n, ArmState.RACING)) for n, v in values.items())
        waiting = tuple(name for name, its in racing.items() if len(its) < FEWEST)
        return Race(tuple(seats), waiting, None, None if racing else End.FAILED)
    field = Field(racing, least_sd)
    barred = {frozenset(pair) for pair in refused}
    bound = quantile(1 - LEVEL / 2 / max(1, len(racing) - 1), field.df)
    leader = max(racing, key=field.mean)
    out = {name for name in racing if name != leader and _is_slower(field, leader, name, bound, barred)}
    left = [name for name in racing if name not in out]
    return Race(
        tuple(_seat(field, values, name, outside, out, leader, bound, margin) for name in values),
        tuple(_next(field, left, leader, bound, margin)),
        leader,
        _end(field, left, margin, barred),
    )


def _is_slower(field: Field, leader: str, name: str, bound: float, barred: set[frozenset[str]]) -> bool:
    apart = field.mean(leader) - field.mean(name)
    return frozenset((leader, name)) not in barred and apart - bound * field.error(leader, name) > 0


def _end(field: Field, left: Sequence[str], margin: float, barred: set[frozenset[str]]) -> End | None:
    if len(left) == 1:
        return End.WINNER if len(field.values) > 1 else None
    pairs = list(combinations(left, 2))
    bound = quantile(1 - TIE_LEVEL / len(pairs), field.df)
    are_close = all(
        abs(field.mean(one) - field.mean(other)) + bound * field.error(one, other) < math.log1p(margin)
        for one, other in pairs
    )
    return End.SAME if are_close and not any(frozenset(pair) in barred for pair in pairs) else None


def _next(field: Field, left: Sequence[str], leader: str, bound: float, margin: float) -> list[str]:
    """The leader and who may still beat it; where nobody may, those that are not proven slower start again."""
    may = [name for name in left if name == leader or _may_beat(field, name, leader, bound, margin)]
    return may if len(may) > 1 else list(left)


def _may_beat(field: Field, name: str, leader: str, bound: float, margin: float) -> bool:
    ahead = field.mean(name) - field.mean(leader)
    return ahead + bound * field.error(name, leader) >= math.log1p(margin)


def _seat(
    field: Field,
    values: Mapping[str, Sequence[float]],
    name: str,
    outside: Mapping[str, ArmState],
    out: set[str],
    leader: str,
    bound: float,
    margin: float,
) -> Seat:
    if name in outside:
        return Seat(name, len(values[name]), outside[name])
    may_win = name == leader or _may_beat(field, name, leader, bound, margin)
    state = ArmState.OUT if name in out else ArmState.RACING if may_win else ArmState.RESTING
    first = next(iter(values))
    if first in outside:
        return Seat(name, len(values[name]), state)
    apart = field.mean(name) - field.mean(first)
    half = 0.0 if name == first else bound * field.error(name, first)
    return Seat(name, len(values[name]), state, math.exp(apart), (math.exp(apart - half), math.exp(apart + half)))
