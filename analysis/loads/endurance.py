"""Drift of a long load: speed of its last third against its first, memory, empty and looping answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from analysis.evidence.loads import decode_tps
from analysis.verdict.ratio import Ratio
from load_records import IS_EMPTY, SESSION, TURN, RequestRecord

FEWEST_SESSIONS = 6  # complete ones; with fewer, a third has no spread
NOTED_DRIFT = 0.02  # the whole interval must lie beyond it for a drift to be claimed


class MemoryGrowth(NamedTuple):
    """Mean memory of a GPU in the first and in the last third of a load, in bytes, and the hours between their middles.

    `is_process`: of the run's own processes; else of all on the GPU.
    """

    gpu_index: int
    first_bytes: float
    last_bytes: float
    hours: float
    is_process: bool

    @property
    def bytes_per_hour(self) -> float:
        return (self.last_bytes - self.first_bytes) / self.hours


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

    The unit is the session: the geometric mean over its turns, of which every session has the same. The interval is
    Welch's over the sessions of both thirds, so it holds for a drift that is slow against a session.
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
    """Return the last third of the sessions over the first, by the turns that have a value in every session."""
    by_session = [{int(r.extra[TURN]): value for r in session if (value := value_of(r))} for session in sessions]
    if len(by_session) < FEWEST_SESSIONS:
        return None
    shared = set.intersection(*map(set, by_session))
    if not shared:
        return None
    means = [_geometric_mean(values, shared) for values in by_session]
    third = len(means) // 3
    return Ratio.of_sides(name, means[:third], means[-third:])


def _geometric_mean(values: Mapping[int, float], turns: set[int]) -> float:
    return math.exp(fmean(math.log(values[turn]) for turn in turns))
