"""What the machine did to the servers meanwhile: processors that were waited for, clocks, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import Kind
from analysis.guard.configuration import gpu_kinds
from analysis.guard.gpu_limits import limits
from analysis.guard.rows import Pair, Row, RowCode, Standing, compared_requests
from analysis.runs import conditions
from analysis.runs.conditions import Conditions
from load_records import RequestRecord

STANDINGS = {
    "same": Standing.SAME,
    "warns": Standing.TOLD,
    "matters": Standing.MATTERS,
    "unknown": Standing.UNKNOWN,
}
MOST_LATE = 0.10  # of an answer's time, see docs/answers/starvation.md
NOTED_LATE = 0.02
WORSE = ("same", "warns", "unknown", "matters")
Judge = Callable[[Sequence[Conditions], Sequence[Conditions]], conditions.Standing]


def throttling(pair: Pair) -> Row:
    """GPUs slowed down by heat or power, or at other clocks; another kind or other limits have clocks of their own."""
    is_one_kind = gpu_kinds(pair.baseline) == gpu_kinds(pair.other)
    is_alike = is_one_kind and limits(pair).standing is not Standing.COMPARED
    return _of_gpus(RowCode.THROTTLING, pair, conditions.clocks if is_alike else _clocks_within)


def _clocks_within(a: Sequence[Conditions], b: Sequence[Conditions]) -> conditions.Standing:
    """The worse of the two arms, each held against itself."""
    of_each = [conditions.clocks(one, one) for one in (a, b)]
    worst = max(of_each, key=lambda found: WORSE.index(found.word))
    values = {n: (tuple(getattr(one, n) for one in a), tuple(getattr(one, n) for one in b)) for n in worst.fields}
    return replace(worst, values=values)


def starvation(pair: Pair) -> Row:
    """Processors that the server's threads had to wait for; what such waits may have made is no claim."""
    row = _row(RowCode.STARVATION, pair, conditions.starvation)
    if row.standing is Standing.MATTERS or not _may_be_waits(pair):
        return row
    of_each = [_conditions(pair, arm) for arm in pair.arms]
    waited = {"starvation_ratio": tuple(tuple(one.starvation_ratio for one in its) for its in of_each)}
    return Row(RowCode.STARVATION, Standing.MATTERS, {"found": waited, "reasons": (), "may_explain": True})


def _may_be_waits(pair: Pair) -> bool:
    if not pair.is_claimed or not pair.ratio:
        return False
    slower, faster = (_conditions(pair, arm) for arm in pair.slower_first)
    return conditions.waits_may_explain(slower, faster, max(pair.ratio, 1 / pair.ratio))


def client(pair: Pair) -> Row:
    """How late our client may have read the answers, because it waited for a CPU itself: a server cannot be timed then.

    The longest wait between two lines of an answer, as a share of the answer's time; of each arm the mean.
    """
    answers = [compared_requests(pair, arm) for arm in pair.arms]
    if not any(answers):
        return Row(RowCode.CLIENT, Standing.SAME, {"not_needed": True})
    shares = [_late_share(requests) for requests in answers]
    known = [share for share in shares if share is not None]
    values = {"late": tuple(shares)}
    if max(known, default=0.0) > MOST_LATE:
        return Row(RowCode.CLIENT, Standing.MATTERS, values)
    if len(known) < len(shares):
        return Row(RowCode.CLIENT, Standing.UNKNOWN, values)
    return Row(RowCode.CLIENT, Standing.TOLD if max(known) > NOTED_LATE else Standing.SAME, values)


def _late_share(requests: Sequence[RequestRecord]) -> float | None:
    """None where one does not report it, or there is none."""
    waits = [r.extra["client_wait_ms"] / r.total_ms for r in requests if r.extra.get("client_wait_ms") is not None]
    return sum(waits) / len(waits) if waits and len(waits) == len(requests) else None


def gpu_shared(pair: Pair) -> Row:
    """Work of others on the GPUs of an arm."""
    return _of_gpus(RowCode.GPU_SHARED, pair, conditions.foreign_gpu_load)


def neighbours(pair: Pair) -> Row:
    """Other runs whose servers worked meanwhile: on the same GPUs they take their share; elsewhere they are noted."""
    near = {run.run_id: _near(run, True) for run in pair.runs}
    far = {run.run_id: _near(run, False) for run in pair.runs}
    shared = {run_id: others for run_id, others in near.items() if others}
    if shared:
        return Row(RowCode.NEIGHBOURS, Standing.MATTERS, {"sharing": shared})
    beside = {run_id: others for run_id, others in far.items() if others}
    return Row(RowCode.NEIGHBOURS, Standing.TOLD if beside else Standing.SAME, {"beside": beside})


def _near(run: RunFacts, shares_gpu: bool) -> list[str]:
    return list(dict.fromkeys(one.run_id for one in run.neighbours if one.shares_gpu is shares_gpu))


def _of_gpus(code: RowCode, pair: Pair, judge: Judge) -> Row:
    """The row of a condition of the GPUs; machines without GPUs are the same."""
    if all(run.served.gpus == () for run in pair.runs):
        return Row(code, Standing.SAME, {"no_gpu": True})
    return _row(code, pair, judge)


def _row(code: RowCode, pair: Pair, judge: Judge) -> Row:
    found = judge(*(_conditions(pair, arm) for arm in pair.arms))
    return Row(code, STANDINGS[found.word], {"found": dict(found.values), "reasons": found.reasons})


def _conditions(pair: Pair, arm: Arm) -> list[Conditions]:
    """Those of the time that the objective is about: a server that waits under its load starts no slower by that."""
    if pair.objective.kind is Kind.STARTUP_S:
        return [one for run in arm.runs for one in run.startup_conditions]
    return [one for run in arm.runs for one in run.conditions]
