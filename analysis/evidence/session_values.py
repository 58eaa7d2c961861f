"""One load's values by agent sessions: time a turn, time to first token at depth, and the sessions themselves."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from statistics import fmean, median

from analysis.evidence.loads import LoadRecord, RequestKey, common_keys, is_whole, key_of
from load_records import AGENT_TASK, SESSION, SESSION_WORKLOADS, RequestRecord

DEEP_SHARE = 0.25  # of a session's turns: the last ones, which are the deepest


def is_session_load(load: LoadRecord) -> bool:
    """Whether the load's requests are turns of agent sessions."""
    return load.plan is not None and load.plan.workload in SESSION_WORKLOADS


def is_agent_driven(load: LoadRecord) -> bool:
    """Whether an agent chose the requests, so that no two loads share one."""
    return load.plan is not None and load.plan.workload == AGENT_TASK


def shared_keys(loads: Sequence[LoadRecord]) -> frozenset[RequestKey]:
    """Return the keys of the requests that all loads completed; of agents' own requests, which none share, all."""
    if loads and all(map(is_agent_driven, loads)):
        return frozenset(key_of(request) for load in loads for request in load.measured if is_whole(request))
    return common_keys(loads)


def sessions_of(load: LoadRecord) -> list[list[RequestRecord]]:
    """Return the measured requests of each session, in the order in which they were sent."""
    sessions: dict[Hashable, list[RequestRecord]] = {}
    for request in sorted(load.measured, key=lambda request: request.sent_at):
        sessions.setdefault((request.phase_index, request.extra.get(SESSION)), []).append(request)
    return list(sessions.values())


def mean_turn_s(load: LoadRecord, keys: frozenset[RequestKey]) -> float | None:
    """Return the mean seconds from sending a turn to the end of its answer; None without a turn.

    The mean, and not the median: the few turns whose prompt is computed again are those that a person waits for.
    """
    seconds = [(turn.total_ms or 0.0) / 1000 for turn in load.measured if key_of(turn) in keys and is_whole(turn)]
    return fmean(seconds) if seconds else None


def deep_ttft_ms(load: LoadRecord, keys: frozenset[RequestKey]) -> float | None:
    """Return the median time to first token of the last quarter of each session's turns; None without one."""
    turns = [turn for session in sessions_of(load) for turn in _deepest(session)]
    times_ms = [turn.ttft_ms for turn in turns if key_of(turn) in keys and is_whole(turn) and turn.ttft_ms is not None]
    return median(times_ms) if times_ms else None


def _deepest(session: Sequence[RequestRecord]) -> Sequence[RequestRecord]:
    return session[-math.ceil(len(session) * DEEP_SHARE) :]


def joules_a_session(loads: Sequence[LoadRecord], energy_j: Mapping[str | None, float | None]) -> float | None:
    """Return the energy of these loads over the number of their sessions; None if that of one is unknown.

    energy_j: by load id, from the first request to the end of the last.
    """
    measured = [load for load in loads if is_session_load(load) and load.measured]
    energies = [energy for load in measured if (energy := energy_j.get(load.load_id)) is not None]
    sessions = sum(len(sessions_of(load)) for load in measured)
    return sum(energies) / sessions if sessions and len(energies) == len(measured) else None
