"""Drift of a long load: speed of its last third against its first, memory, empty and looping answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, linear_regression, variance
from typing import NamedTuple

from analysis.evidence.loads import decode_tps
from analysis.verdict.ratio import Ratio
from analysis.verdict.replicates import ROUNDING_SD
from analysis.verdict.student_t import quantile
from load_records import IS_EMPTY, SESSION, TURN, RequestRecord

FEWEST_SESSIONS = 12  # complete ones; with fewer, the claims do not hold in simulation
FEWEST_INDEPENDENT = 2.0  # sessions of a third, beside which the speed wanders too slowly to know its mean
MEMORY_PARTS = 48  # of a load, in which its memory is averaged
FEWEST_PARTS = 36  # of them that have a sample, for an interval
FEWEST_INDEPENDENT_PARTS = 3.0  # of a third; with fewer, memory that wanders would too often be called growing
LEVEL = 0.95
WALK_LEVEL = 0.99
NOTED_DRIFT = 0.02  # the whole interval must lie beyond it for a drift to be claimed


class MemoryGrowth(NamedTuple):
    """Mean memory of a GPU in equal parts of a load, in bytes, the earliest first, and the hours of the load.

    `is_process`: of the run's own processes; else of all on the GPU.
    """

    gpu_index: int
    is_process: bool
    part_bytes: Sequence[float]
    hours: float

    @property
    def change_bytes(self) -> float:
        """Mean of the last third minus that of the first."""
        third = max(1, len(self.part_bytes) // 3)
        return fmean(self.part_bytes[-third:]) - fmean(self.part_bytes[:third])

    @property
    def bytes_per_hour(self) -> float:
        return self.change_bytes / self._hours_between

    @property
    def interval_per_hour(self) -> tuple[float, float] | None:
        """The 95 % interval; None if too many parts have no sample.

        The rule is that of the speed. Memory that climbs or wanders too smoothly for it is taken for a random walk,
        whose increments are independent; the level is higher there, so that two chances claim no more than one.
        """
        if len(self.part_bytes) < FEWEST_PARTS:
            return None
        scale, third = fmean(self.part_bytes), len(self.part_bytes) // 3
        half_length = _half_length([part / scale for part in self.part_bytes], third, FEWEST_INDEPENDENT_PARTS)
        half_bytes = _half_of_walk(self.part_bytes) if half_length is None else half_length * scale
        half_per_hour = half_bytes / self._hours_between
        return self.bytes_per_hour - half_per_hour, self.bytes_per_hour + half_per_hour

    @property
    def _hours_between(self) -> float:
        """Hours between the middles of both thirds."""
        return self.hours * 2 / 3


@dataclass(frozen=True, slots=True)
class Endurance:
    """What changed over a load of many sessions; ratios are None with fewer than FEWEST_SESSIONS complete ones."""

    sessions: int  # complete ones
    turns: int  # answered ones of all sessions
    failed: int
    empty: int
    looping: int
    decode: Ratio | None  # of tok/s, last third over first
    ttft: Ratio | None


def endurance_of(requests: Sequence[RequestRecord]) -> Endurance | None:
    """Return the drift of a load's measured requests; None if they are not turns of sessions.

    The unit is the session: the geometric mean over its turns, of which every session has the same.
    """
    turns = [request for request in requests if TURN in request.extra and SESSION in request.extra]
    answered = [request for request in turns if request.error_kind is None]
    if not turns:
        return None
    verdicts = [(request.extra.get("collapse") or {}).get("verdict") for request in answered]
    complete = _complete_sessions(turns)
    return Endurance(
        len(complete),
        len(answered),
        len(turns) - len(answered),
        sum(bool(request.extra.get(IS_EMPTY)) for request in answered),
        verdicts.count("collapsed"),
        _drift("decode speed", complete, decode_tps),
        _drift("time to first token", complete, lambda request: request.ttft_ms),
    )


def is_drifting(drift: Ratio | None) -> bool | None:
    """Whether a ratio's whole interval lies beyond NOTED_DRIFT; None without an interval."""
    if drift is None or drift.interval is None:
        return None
    low, high = drift.interval
    return low > 1 + NOTED_DRIFT or high < 1 / (1 + NOTED_DRIFT)


def _complete_sessions(turns: Sequence[RequestRecord]) -> list[list[RequestRecord]]:
    """Return the sessions with every turn answered, in the order of their beginning."""
    sessions: dict[int, list[RequestRecord]] = {}
    for request in turns:
        sessions.setdefault(int(request.extra[SESSION]), []).append(request)
    most = max(map(len, sessions.values()))
    complete = [
        session
        for session in sessions.values()
        if len(session) == most and all(request.error_kind is None for request in session)
    ]
    return sorted(complete, key=lambda session: min(request.sent_at for request in session))


def _drift(
    name: str, sessions: Sequence[Sequence[RequestRecord]], value_of: Callable[[RequestRecord], float | None]
) -> Ratio | None:
    """Return the last third of the sessions over the first, by the turns that have a value in every session.

    The interval is Student's t with as many independent sessions as their autocorrelation leaves; None where these are
    too few to know more.
    """
    by_session = [{int(r.extra[TURN]): value for r in session if (value := value_of(r))} for session in sessions]
    if len(by_session) < FEWEST_SESSIONS:
        return None
    shared = set.intersection(*map(set, by_session))
    if not shared:
        return None
    means = [_geometric_mean(values, shared) for values in by_session]
    third = len(means) // 3
    first, last = _geometric_mean_of(means[:third]), _geometric_mean_of(means[-third:])
    half_length = _half_length([math.log(mean) for mean in means], third)
    ratio = last / first
    interval = None if half_length is None else (ratio * math.exp(-half_length), ratio * math.exp(half_length))
    return Ratio(name, ratio, (first, last), interval)


def _half_length(values: Sequence[float], third: int, fewest: float = FEWEST_INDEPENDENT) -> float | None:
    """Return half of the interval of last third minus first; None if fewer values of a third are independent.

    values: of size 1, as logs of speeds and shares of the mean memory are. Neighbouring sessions are alike on a machine
    whose speed wanders. The first-order autocorrelation of the series without trend, corrected for its bias in short
    series, says how many sessions a third is worth.
    """
    inflation = _inflation(values)
    if inflation is None or third / inflation < fewest:
        return None
    independent = third / inflation
    spread = (variance(values[:third]) + variance(values[-third:])) / 2
    spread /= 1 - (inflation - 1) / (third - 1)  # a third that wanders hides a part of its own spread
    return quantile((1 + LEVEL) / 2, 2 * (independent - 1)) * math.sqrt(2 * spread / independent)


def _half_of_walk(values: Sequence[float]) -> float:
    """Return half of the interval of last third minus first of a random walk.

    A third of n steps lies between the thirds, and the mean of each has two ninths of the variance of a third more.
    """
    steps = [after - before for before, after in pairwise(values)]
    variance_of_change = variance(steps) * len(steps) * (1 / 3 + 2 / 9)
    return quantile((1 + WALK_LEVEL) / 2, len(steps) - 1) * math.sqrt(variance_of_change)


def _inflation(values: Sequence[float]) -> float | None:
    """Return by how much autocorrelation inflates the variance of a mean; None if it is unbounded or nothing varies."""
    times = range(len(values))
    slope, intercept = linear_regression(times, values)
    residuals = [value - intercept - slope * time for time, value in zip(times, values, strict=True)]
    total = math.fsum(residual**2 for residual in residuals)
    if total < ROUNDING_SD**2 * len(values):
        return None
    correlation = math.fsum(a * b for a, b in pairwise(residuals)) / total
    unbiased = max(0.0, (correlation + 2 / len(values)) / (1 - 4 / len(values)))
    return None if unbiased >= 1 else (1 + unbiased) / (1 - unbiased)


def _geometric_mean_of(values: Sequence[float]) -> float:
    return math.exp(fmean(map(math.log, values)))


def _geometric_mean(values: Mapping[int, float], turns: set[int]) -> float:
    return _geometric_mean_of([values[turn] for turn in turns])
