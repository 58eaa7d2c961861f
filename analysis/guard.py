"""Whether two runs may be ranked, and if not, why: the page shows these sentences instead of a winner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analysis.windows import SpeedSummary
from domain import WATCH


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


def reasons_not_ranked(a: Subject, b: Subject) -> list[str]:
    """Why `a` and `b` cannot be ranked, as sentences; empty when they can. Without a speed nothing else matters."""
    return _no_speed(a, b) or reasons_not_comparable(a, b)


def reasons_not_comparable(a: Subject, b: Subject) -> list[str]:
    """Those of the reasons that no further measuring takes away."""
    checks = (_overlap, _neighbours, _workloads, _unsent, _measures, _concurrency)
    return [sentence for check in checks for sentence in check(a, b)]


def overlapped(a: Subject, b: Subject) -> bool:
    """Whether both servers were up on one machine at one moment."""
    if a.machine_id != b.machine_id or a.began_at is None or b.began_at is None:
        return False
    a_end, b_end = a.ended_at or datetime.max.replace(tzinfo=a.began_at.tzinfo), b.ended_at
    return a.began_at < (b_end or datetime.max.replace(tzinfo=b.began_at.tzinfo)) and b.began_at < a_end


def _no_speed(a: Subject, b: Subject) -> list[str]:
    return [
        f"{s.name} {_lack(s.state)}: {s.summary.reason or 'unknown'}" for s in (a, b) if s.summary.typical_tps is None
    ]


def _lack(state: str) -> str:
    return "failed" if state == "failed" else "has no decode speed to rank"


def _overlap(a: Subject, b: Subject) -> list[str]:
    return [f"{a.name} and {b.name} ran at the same time on one machine"] if overlapped(a, b) else []


def _neighbours(a: Subject, b: Subject) -> list[str]:
    """Third runs that took their share of a machine; the two themselves are `_overlap`'s."""
    return [
        f"{s.name} shared its machine with {_counted(others)}"
        for s in (a, b)
        if (others := s.neighbours - overlapped(a, b)) > 0
    ]


def _counted(runs: int) -> str:
    return "another run" if runs == 1 else f"{runs} other runs"


def _workloads(a: Subject, b: Subject) -> list[str]:
    if unloaded := [s.name for s in (a, b) if s.workload in (None, WATCH.name)]:
        return [f"{' and '.join(unloaded)} had no workload of ours, so the prompts are not known to be the same"]
    if a.workload != b.workload:
        return [f"different workloads: {a.workload} and {b.workload}"]
    if a.prompt_set_hash != b.prompt_set_hash:
        return ["different prompt sets"]
    differing = sorted(
        k for k in {*a.workload_params, *b.workload_params} if a.workload_params.get(k) != b.workload_params.get(k)
    )
    return [f"the workload was set differently: {', '.join(differing)}"] if differing else []


def _unsent(a: Subject, b: Subject) -> list[str]:
    """A part of a load holds other kinds of text than the whole."""
    return [f"{s.name} did not finish its load: {s.unsent} of its requests were not sent" for s in (a, b) if s.unsent]


def _measures(a: Subject, b: Subject) -> list[str]:
    if a.summary.typical_tps is None or b.summary.typical_tps is None:
        return []
    sentences = []
    if a.summary.window_s != b.summary.window_s:
        sentences.append(f"different windows: {window_words(a.summary)} and {window_words(b.summary)}")
    if a.measure is None or a.measure != b.measure:
        sentences.append(f"decode speed is defined differently: {a.summary.definition} and {b.summary.definition}")
    return sentences


def window_words(summary: SpeedSummary) -> str:
    """What its numbers are taken over: '2 s', or that a log gives each line a time of its own."""
    return "each log line's own time" if summary.window_s is None else f"{summary.window_s:g} s"


def _concurrency(a: Subject, b: Subject) -> list[str]:
    mine, theirs = a.summary.concurrency, b.summary.concurrency
    if mine is None or theirs is None or round(mine) == round(theirs):
        return []
    return [f"different concurrency in the ranked windows: {mine:.1f} and {theirs:.1f} requests"]
