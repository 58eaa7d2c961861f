"""What the machine did to the servers meanwhile: processors that were waited for, clocks, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from analysis import conditions
from analysis.arms import Arm
from analysis.conditions import Conditions
from analysis.guard.configuration import gpu_kinds
from analysis.guard.rows import Pair, Row, RowCode, Standing

STANDINGS = {
    "same": Standing.SAME,
    "warns": Standing.TOLD,
    "matters": Standing.MATTERS,
    "unknown": Standing.UNKNOWN,
}
WORSE = ("same", "warns", "unknown", "matters")
Judge = Callable[[Sequence[Conditions], Sequence[Conditions]], conditions.Standing]


def throttling(pair: Pair) -> Row:
    """GPUs slowed down by heat or power, or at other clocks; another kind of GPU has clocks of its own."""
    is_one_kind = gpu_kinds(pair.baseline) == gpu_kinds(pair.other)
    return _of_gpus(RowCode.THROTTLING, pair, conditions.clocks if is_one_kind else _clocks_within)


def _clocks_within(a: Sequence[Conditions], b: Sequence[Conditions]) -> conditions.Standing:
    """The worse of the two arms, each held against itself."""
    of_each = [conditions.clocks(one, one) for one in (a, b)]
    worst = max(of_each, key=lambda found: WORSE.index(found.word))
    values = {n: (tuple(getattr(one, n) for one in a), tuple(getattr(one, n) for one in b)) for n in worst.fields}
    return replace(worst, values=values)


def starvation(pair: Pair) -> Row:
    """Processors that the server's threads had to wait for."""
    return _row(RowCode.STARVATION, pair, conditions.starvation)


def gpu_shared(pair: Pair) -> Row:
    """Work of others on the GPUs of an arm."""
    return _of_gpus(RowCode.GPU_SHARED, pair, conditions.foreign_gpu_load)


def neighbours(pair: Pair) -> Row:
    """Other runs whose servers worked meanwhile: on the same GPUs they take their share; elsewhere they are told."""
    near = {run.run_id: [one.run_id for one in run.neighbours if one.shares_gpu] for run in pair.runs}
    far = {run.run_id: [one.run_id for one in run.neighbours if not one.shares_gpu] for run in pair.runs}
    shared = {run_id: others for run_id, others in near.items() if others}
    if shared:
        return Row(RowCode.NEIGHBOURS, Standing.MATTERS, {"sharing": shared})
    beside = {run_id: others for run_id, others in far.items() if others}
    return Row(RowCode.NEIGHBOURS, Standing.TOLD if beside else Standing.SAME, {"beside": beside})


def _of_gpus(code: RowCode, pair: Pair, judge: Judge) -> Row:
    """Of machines that have no GPU there is nothing to know."""
    if all(run.served.gpus == () for run in pair.runs):
        return Row(code, Standing.SAME, {"no_gpu": True})
    return _row(code, pair, judge)


def _row(code: RowCode, pair: Pair, judge: Judge) -> Row:
    found = judge(*map(_conditions, pair.arms))
    return Row(code, STANDINGS[found.word], {"found": dict(found.values), "reasons": found.reasons})


def _conditions(arm: Arm) -> list[Conditions]:
    return [one for run in arm.runs for one in run.conditions]
