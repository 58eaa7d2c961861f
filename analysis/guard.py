"""Whether two runs may be ranked, and if not, why: the page shows these reasons instead of a winner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analysis.reasons import Code, Reason
from analysis.windows import SpeedSummary
from domain import WATCH, RunState


@dataclass(frozen=True, slots=True)
class Subject:
    """What the guard must know of one run; `measure` names what its decode rate means, equal when comparable."""

    run_id: str
    name: str
    state: str
    machine_id: str
    began_at: datetime | None
    ended_at: datetime | None  # None: still going on
    workload: str | None
    prompt_set_hash: str | None
    workload_params: Mapping[str, Any]
    measure: str | None
    summary: SpeedSummary
    unsent: int = 0  # measured requests of its load that were never sent: it was cancelled, skipped, or broke
    neighbours: int = 0  # other runs whose server was up on the same machine meanwhile


def reasons_not_ranked(a: Subject, b: Subject) -> list[Reason]:
    """Why `a` and `b` cannot be ranked; empty when they can. Without a speed nothing else matters."""
    return _no_speed(a, b) or reasons_not_comparable(a, b)


def reasons_not_comparable(a: Subject, b: Subject) -> list[Reason]:
    """Those of the reasons that no further measuring takes away."""
    checks = (_overlap, _neighbours, _workloads, _unsent, _measures, _concurrency)
    return [reason for check in checks for reason in check(a, b)]


def overlapped(a: Subject, b: Subject) -> bool:
    """Whether both servers were up on one machine at one moment."""
    if a.machine_id != b.machine_id or a.began_at is None or b.began_at is None:
        return False
    a_end, b_end = a.ended_at or datetime.max.replace(tzinfo=a.began_at.tzinfo), b.ended_at
    return a.began_at < (b_end or datetime.max.replace(tzinfo=b.began_at.tzinfo)) and b.began_at < a_end


def _no_speed(a: Subject, b: Subject) -> list[Reason]:
    return [
        Reason(Code.FAILED if s.state == RunState.FAILED else Code.NO_SPEED, (s.run_id,), {"why": s.summary.reason})
        for s in (a, b)
        if s.summary.typical_tps is None
    ]


def _of_both(code: Code, a: Subject, b: Subject, **values: Any) -> Reason:
    return Reason(code, (a.run_id, b.run_id), values)


def _overlap(a: Subject, b: Subject) -> list[Reason]:
    return [_of_both(Code.OVERLAP, a, b)] if overlapped(a, b) else []


def _neighbours(a: Subject, b: Subject) -> list[Reason]:
    """Third runs that took their share of a machine; the two themselves are `_overlap`'s."""
    return [
        Reason(Code.SHARED_MACHINE, (s.run_id,), {"others": others})
        for s in (a, b)
        if (others := s.neighbours - overlapped(a, b)) > 0
    ]


def _workloads(a: Subject, b: Subject) -> list[Reason]:
    if unloaded := tuple(s.run_id for s in (a, b) if s.workload in (None, WATCH.name)):
        return [Reason(Code.NO_WORKLOAD, unloaded)]
    if a.workload != b.workload:
        return [_of_both(Code.OTHER_WORKLOAD, a, b, workloads=(a.workload, b.workload))]
    if a.prompt_set_hash != b.prompt_set_hash:
        return [_of_both(Code.OTHER_PROMPTS, a, b)]
    known = {*a.workload_params, *b.workload_params}
    differing = sorted(name for name in known if a.workload_params.get(name) != b.workload_params.get(name))
    return [_of_both(Code.OTHER_WORKLOAD_PARAMS, a, b, params=differing)] if differing else []


def _unsent(a: Subject, b: Subject) -> list[Reason]:
    """A part of a load holds other kinds of text than the whole."""
    return [Reason(Code.UNFINISHED_LOAD, (s.run_id,), {"unsent": s.unsent}) for s in (a, b) if s.unsent]


def _measures(a: Subject, b: Subject) -> list[Reason]:
    if a.summary.typical_tps is None or b.summary.typical_tps is None:
        return []
    reasons = []
    if a.summary.window_s != b.summary.window_s:
        reasons.append(_of_both(Code.OTHER_WINDOWS, a, b, window_s=(a.summary.window_s, b.summary.window_s)))
    if a.measure is None or a.measure != b.measure:
        definitions = (a.summary.definition, b.summary.definition)
        reasons.append(_of_both(Code.OTHER_DEFINITION, a, b, definitions=definitions))
    return reasons


def _concurrency(a: Subject, b: Subject) -> list[Reason]:
    mine, theirs = a.summary.concurrency, b.summary.concurrency
    if mine is None or theirs is None or round(mine) == round(theirs):
        return []
    return [_of_both(Code.OTHER_CONCURRENCY, a, b, requests=(mine, theirs))]
