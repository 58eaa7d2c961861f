"""Race of arms: after each round of one server start per arm, decides which arms continue and whether it is settled.

Values are logarithms of replicates. An arm is out if it is slower than the leader, and beyond the smallest difference
that matters. The spread between starts is pooled over the arms; if the two compared arms scatter more, their own spread
counts, with the degrees of freedom of Welch's t. `LEVEL` and `BEYOND_LEVEL` are those of one look, Bonferroni over the
arms: by simulation (benchmarks/simulations/study_simulation.py) ten looks name a wrong winner in fewer than 5 % of
studies, also if one arm is 10 times as noisy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import fmean

from analysis.verdict.student_t import quantile

LEVEL = 0.005  # two-sided, of one look: slower at all
BEYOND_LEVEL = 0.1  # one-sided, of one look: slower by more than the margin
TIE_LEVEL = 0.05  # one-sided, of one look: both bounds of every difference within the margin
MIN_STARTS = 2  # starts per arm before any conclusion


class ArmState(StrEnum):
    """State of an arm in a race; only racing or resting arms may still be best."""

    RACING = "racing"
    RESTING = "resting"  # cannot beat the leader by the margin any more, but is not proven slower
    OUT = "out"  # slower than the leader by more than the margin
    PREDICTED = "predicted"  # not started: other arms' runs show that it cannot be best, or does not fit
    TRIED = "tried"  # started once among many combinations and was not among the best
    FAILED = "failed"  # its server does not start, or yields no value


class RaceEnd(StrEnum):
    """Result of a race: one best arm, equal arms, or why there is neither."""

    WINNER = "winner"
    SAME = "same"
    UNKNOWN = "unknown"
    FAILED = "failed"
    MEASURED = "measured"  # a single arm, as often as requested


@dataclass(frozen=True, slots=True)
class Seat:
    """One arm's state; ratio and interval are relative to the study's first arm, at the level of one look."""

    name: str
    starts: int
    state: ArmState
    ratio: float | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Race:
    """State of a study after its last complete round."""

    seats: tuple[Seat, ...]
    next_arms: tuple[str, ...]  # starting in the next round
    leader: str | None = None
    end: RaceEnd | None = None  # None: it continues


@dataclass(frozen=True, slots=True)
class RaceValues:
    """Values of the arms with derived statistics."""

    values: Mapping[str, Sequence[float]]
    least_sd: float = 0.0  # of one value, from its measurement resolution

    def mean(self, name: str) -> float:
        """Return the mean of the logarithms of this arm's replicates."""
        return fmean(self.values[name])

    def variance(self, name: str) -> float:
        """Return the variance of one replicate of this arm, over n - 1; the arm needs two replicates."""
        return sum((value - self.mean(name)) ** 2 for value in self.values[name]) / (len(self.values[name]) - 1)

    @property
    def df(self) -> int:
        return sum(len(values) - 1 for values in self.values.values())

    @property
    def pooled_variance(self) -> float:
        return sum(self.variance(name) * (len(self.values[name]) - 1) for name in self.values) / self.df

    def error(self, first: str, second: str) -> float:
        """Return the standard error of the difference of two arms' means."""
        counts = len(self.values[first]), len(self.values[second])
        pooled = self.pooled_variance * (1 / counts[0] + 1 / counts[1])
        separate = self.variance(first) / counts[0] + self.variance(second) / counts[1]
        return math.sqrt(max(pooled, separate, self.least_sd**2 * (1 / counts[0] + 1 / counts[1])))

    def half_length(self, first: str, second: str, p: float) -> float:
        """Return t at this quantile times the error of the difference: pooled, or by the two arms alone if more.

        Two arms whose noise is unlike have fewer degrees of freedom than all arms together.
        """
        terms = [(self.variance(name) / len(self.values[name]), len(self.values[name]) - 1) for name in (first, second)]
        separate = sum(variance for variance, _ in terms)
        df = separate**2 / sum(variance**2 / df for variance, df in terms) if separate > 0 else self.df
        return max(quantile(p, self.df) * self.error(first, second), quantile(p, df) * math.sqrt(separate))


def sd_of_starts(values: Mapping[str, Sequence[float]]) -> float | None:
    """Return the sd between starts of one arm, pooled; None until an arm has two."""
    stats = RaceValues({name: logs for name, logs in values.items() if len(logs) > 1})
    return math.sqrt(stats.pooled_variance) if stats.values else None


def race(
    values: Mapping[str, Sequence[float]],
    margin: float,
    failed: Sequence[str] = (),
    refused: Sequence[tuple[str, str]] = (),
    least_sd: float = 0.0,
    excluded: Collection[str] = (),
    tried_names: Collection[str] = (),
) -> Race:
    """Judge the rounds so far.

    values: arm -> logarithms of its replicates, higher is better, in the order of the study. margin: the smallest
    difference that matters, as a share. failed: arms that cannot run. refused: pairs that must not be ranked against
    each other, which neither eliminate an arm nor show equality. least_sd: of one value, if it is measured in steps.
    excluded: predicted arms that do not start. tried_names: arms that do not race.
    """
    outside = (
        dict.fromkeys(tried_names, ArmState.TRIED)
        | dict.fromkeys(excluded, ArmState.PREDICTED)
        | dict.fromkeys(failed, ArmState.FAILED)
    )
    racing = {name: list(logs) for name, logs in values.items() if name not in outside}
    if len(racing) == 1 and failed and all(racing.values()):  # further starts have no rival
        seats = (Seat(n, len(v), outside.get(n, ArmState.RACING)) for n, v in values.items())
        return Race(tuple(seats), (), next(iter(racing)), RaceEnd.UNKNOWN)
    if not racing or any(len(logs) < MIN_STARTS for logs in racing.values()):
        seats = (Seat(n, len(v), outside.get(n, ArmState.RACING)) for n, v in values.items())
        waiting = tuple(name for name, logs in racing.items() if len(logs) < MIN_STARTS)
        return Race(tuple(seats), waiting, None, None if racing else RaceEnd.FAILED)
    stats = RaceValues(racing, least_sd)
    barred = {frozenset(pair) for pair in refused}
    bound = quantile(1 - LEVEL / 2 / max(1, len(racing) - 1), stats.df)
    leader = max(racing, key=stats.mean)
    beaten = {name for name in racing if name != leader and _is_slower(stats, leader, name, margin, barred)}
    remaining = [name for name in racing if name not in beaten]
    return Race(
        tuple(_seat(stats, values, name, outside, beaten, leader, bound, margin) for name in values),
        tuple(_next_arms(stats, remaining, leader, bound, margin)),
        leader,
        _find_end(stats, remaining, margin, barred),
    )


def _is_slower(stats: RaceValues, leader: str, name: str, margin: float, barred: set[frozenset[str]]) -> bool:
    """Whether an arm is proven slower than the leader, and by more than the margin."""
    difference, rivals = stats.mean(leader) - stats.mean(name), max(1, len(stats.values) - 1)
    if frozenset((leader, name)) in barred:
        return False
    is_slower = difference > stats.half_length(leader, name, 1 - LEVEL / 2 / rivals)
    is_beyond = difference - quantile(1 - BEYOND_LEVEL / rivals, stats.df) * stats.error(leader, name) > math.log1p(
        margin
    )
    return is_slower and is_beyond


def _find_end(
    stats: RaceValues, remaining: Sequence[str], margin: float, barred: set[frozenset[str]]
) -> RaceEnd | None:
    if len(remaining) == 1:
        return RaceEnd.WINNER if len(stats.values) > 1 else None
    has_barred_pair = any(frozenset(pair) in barred for pair in combinations(remaining, 2))
    return RaceEnd.SAME if not has_barred_pair and _are_equal(stats, remaining, margin) else None


def _are_equal(stats: RaceValues, names: Sequence[str], margin: float) -> bool:
    """Whether every difference of these arms is proven to lie within the margin."""
    pairs = list(combinations(names, 2))
    bound = quantile(1 - TIE_LEVEL / len(pairs), stats.df)
    return all(
        abs(stats.mean(first) - stats.mean(second)) + bound * stats.error(first, second) < math.log1p(margin)
        for first, second in pairs
    )


def _next_arms(stats: RaceValues, remaining: Sequence[str], leader: str, bound: float, margin: float) -> list[str]:
    """Return the leader and the arms that may still beat it; if these are equal or none, the arms not proven slower."""
    contenders = [name for name in remaining if name == leader or _may_beat(stats, name, leader, bound, margin)]
    resting = [name for name in remaining if name not in contenders]
    if len(contenders) > 1 and not (resting and _are_equal(stats, contenders, margin)):
        return contenders
    return resting if len(contenders) > 1 else list(remaining)


def _may_beat(stats: RaceValues, name: str, leader: str, bound: float, margin: float) -> bool:
    lead = stats.mean(name) - stats.mean(leader)
    return lead + bound * stats.error(name, leader) >= math.log1p(margin)


def _seat(
    stats: RaceValues,
    values: Mapping[str, Sequence[float]],
    name: str,
    outside: Mapping[str, ArmState],
    beaten: set[str],
    leader: str,
    bound: float,
    margin: float,
) -> Seat:
    if name in outside:
        return Seat(name, len(values[name]), outside[name])
    may_win = name == leader or _may_beat(stats, name, leader, bound, margin)
    state = ArmState.OUT if name in beaten else ArmState.RACING if may_win else ArmState.RESTING
    first = next(iter(values))
    if first in outside:
        return Seat(name, len(values[name]), state)
    log_ratio = stats.mean(name) - stats.mean(first)
    half_length = 0.0 if name == first else bound * stats.error(name, first)
    return Seat(
        name,
        len(values[name]),
        state,
        math.exp(log_ratio),
        (math.exp(log_ratio - half_length), math.exp(log_ratio + half_length)),
    )
