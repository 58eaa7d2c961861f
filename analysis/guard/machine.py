"""Guard rows about the machine during the loads: CPU waits, clocks, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import ObjectiveKind
from analysis.guard.configuration import gpu_kinds
from analysis.guard.gpu_limits import limits
from analysis.guard.rows import ArmPair, GuardRow, RowCode, RowStatus, compared_requests
from analysis.runs import conditions
from analysis.runs.conditions import Conditions
from domain import is_unknown_machine
from load_records import RequestRecord

STATUSES = {
    "same": RowStatus.SAME,
    "warns": RowStatus.TOLD,
    "matters": RowStatus.MATTERS,
    "unknown": RowStatus.UNKNOWN,
}
MOST_LATE = 0.10  # of an answer's time, see docs/answers/starvation.md
NOTED_LATE = 0.02
SEVERITY = ("same", "warns", "unknown", "matters")
ConditionCheck = Callable[[Sequence[Conditions], Sequence[Conditions]], conditions.ConditionStatus]


def throttling(pair: ArmPair) -> GuardRow:
    """Compare throttling and clocks; arms with different GPUs or limits are checked only within themselves."""
    is_one_kind = gpu_kinds(pair.baseline) == gpu_kinds(pair.contender)
    is_alike = is_one_kind and limits(pair).status is not RowStatus.COMPARED
    return _gpu_row(RowCode.THROTTLING, pair, conditions.clocks if is_alike else _clocks_within)


def _clocks_within(a: Sequence[Conditions], b: Sequence[Conditions]) -> conditions.ConditionStatus:
    """Return the worse of the two arms, each compared with itself."""
    results = [conditions.clocks(arm, arm) for arm in (a, b)]
    worst = max(results, key=lambda result: SEVERITY.index(result.level))
    values = {
        n: (tuple(getattr(condition, n) for condition in a), tuple(getattr(row, n) for row in b)) for n in worst.fields
    }
    return replace(worst, values=values)


def starvation(pair: ArmPair) -> GuardRow:
    """Compare CPU waits of the servers' threads; a difference that such waits may explain is no claim."""
    row = _row(RowCode.STARVATION, pair, partial(conditions.starvation, margin=pair.margin))
    if row.status is RowStatus.MATTERS or not _may_be_waits(pair):
        return row
    conditions_by_arm = [_conditions(pair, arm) for arm in pair.arms]
    wait_values = {
        name: tuple(tuple(getattr(condition, name) for condition in rows) for rows in conditions_by_arm)
        for name in ("starvation_ratio", "wait_share")
    }
    return GuardRow(RowCode.STARVATION, RowStatus.MATTERS, {"found": wait_values, "reasons": (), "may_explain": True})


def _may_be_waits(pair: ArmPair) -> bool:
    if not pair.is_claimed or not pair.ratio:
        return False
    effect_log = conditions.wait_effect(*(_conditions(pair, arm) for arm in pair.arms))
    if effect_log is None:
        return False
    return pair.is_explained_by(effect_log if pair.objective.terms.higher_is_better else -effect_log)


def client(pair: ArmPair) -> GuardRow:
    """Compare how late the client may have read the answers while waiting for a CPU, which makes timings useless.

    The measure is the longest wait between two lines of an answer, as a share of the answer's time; the mean per arm.
    """
    answers = [compared_requests(pair, arm) for arm in pair.arms]
    if not any(answers):
        return GuardRow(RowCode.CLIENT, RowStatus.SAME, {"not_needed": True})
    shares = [_late_share(requests) for requests in answers]
    known_shares = [share for share in shares if share is not None]
    values = {"late": tuple(shares)}
    if max(known_shares, default=0.0) > MOST_LATE:
        return GuardRow(RowCode.CLIENT, RowStatus.MATTERS, values)
    if len(known_shares) < len(shares):
        return GuardRow(RowCode.CLIENT, RowStatus.UNKNOWN, values)
    return GuardRow(RowCode.CLIENT, RowStatus.TOLD if max(known_shares) > NOTED_LATE else RowStatus.SAME, values)


def _late_share(requests: Sequence[RequestRecord]) -> float | None:
    """Return the mean late share; None without requests or if one does not report it."""
    waits = [r.extra["client_wait_ms"] / r.total_ms for r in requests if r.extra.get("client_wait_ms") is not None]
    return sum(waits) / len(waits) if waits and len(waits) == len(requests) else None


def gpu_shared(pair: ArmPair) -> GuardRow:
    """Compare the work of other processes on the arms' GPUs."""
    return _gpu_row(RowCode.GPU_SHARED, pair, conditions.foreign_gpu_load)


def neighbours(pair: ArmPair) -> GuardRow:
    """Report other runs that worked at the same time: on the same GPUs they matter, elsewhere they are noted."""
    near = {run.run_id: _near(run, True) for run in pair.runs}
    far = {run.run_id: _near(run, False) for run in pair.runs}
    shared = {run_id: run_ids for run_id, run_ids in near.items() if run_ids}
    if shared:
        return GuardRow(RowCode.NEIGHBOURS, RowStatus.MATTERS, {"sharing": shared})
    noted = {run_id: run_ids for run_id, run_ids in far.items() if run_ids}
    if not noted and any(is_unknown_machine(run.served.machine_id) for run in pair.runs):
        return GuardRow(RowCode.NEIGHBOURS, RowStatus.UNKNOWN)
    return GuardRow(RowCode.NEIGHBOURS, RowStatus.TOLD if noted else RowStatus.SAME, {"beside": noted})


def _near(run: RunFacts, shares_gpu: bool) -> list[str]:
    return list(dict.fromkeys(neighbour.run_id for neighbour in run.neighbours if neighbour.shares_gpu is shares_gpu))


def _gpu_row(code: RowCode, pair: ArmPair, judge: ConditionCheck) -> GuardRow:
    """Return the row of a GPU condition; machines without GPUs count as the same."""
    if all(run.served.gpus == () for run in pair.runs):
        return GuardRow(code, RowStatus.SAME, {"no_gpu": True})
    return _row(code, pair, judge)


def _row(code: RowCode, pair: ArmPair, judge: ConditionCheck) -> GuardRow:
    result = judge(*(_conditions(pair, arm) for arm in pair.arms))
    return GuardRow(code, STATUSES[result.level], {"found": dict(result.values), "reasons": result.reasons})


def _conditions(pair: ArmPair, arm: Arm) -> list[Conditions]:
    """Return the conditions during the objective's period: waits under load do not slow down a start."""
    if pair.objective.kind is ObjectiveKind.STARTUP_S:
        return [condition for run in arm.runs for condition in run.startup_conditions]
    return [condition for run in arm.runs for condition in run.conditions]
