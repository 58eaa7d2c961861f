"""Comparison of two arms: the size of the difference, its factors, and whether the guard allows a ranking.

A replicate is one server start; its value is the geometric mean over its loads. analysis.verdict judges the values;
the guard's rows decide whether the answer counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.comparison.arms import Arm
from analysis.comparison.replicates import (
    ClassComparison,
    Replicate,
    compare_classes,
    factor_ratios,
    make_replicate,
)
from analysis.evidence.loads import LoadRecord, RequestKey, key_of
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Objective, ObjectiveKind, objectives_of
from analysis.evidence.session_values import shared_keys
from analysis.guard import ArmPair, GuardRow, RowCode, guard, refusals
from analysis.guard.rows import loads_of
from analysis.verdict import MARGIN, EarlierSpread, FactorEffect, Judgement, VerdictAnswer, judge
from analysis.verdict.causes import unclaimed
from reasons import Code, Reason

CLAIM_ANSWERS = (VerdictAnswer.BETTER, VerdictAnswer.WORSE, VerdictAnswer.DIFFERENT)


@dataclass(frozen=True, slots=True)
class ArmComparison:
    """One arm against the baseline. It is ranked if it has a `judgement` and no guard row refuses."""

    pair: ArmPair
    replicates: tuple[tuple[Replicate, ...], tuple[Replicate, ...]]
    rows: tuple[GuardRow, ...]
    judgement: Judgement | None = None
    classes: tuple[ClassComparison, ...] = ()
    factors: tuple[FactorEffect, ...] = ()
    no_factors: Reason | None = None
    no_value: Reason | None = None  # why one of the arms has no value
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> requests; 'starts': starts without a value
    margin: float = MARGIN  # the smallest difference that matters

    @property
    def is_ranked(self) -> bool:
        return self.judgement is not None and not self.refused

    @property
    def refused(self) -> list[GuardRow]:
        return refusals(self.rows)


def compare_arms(
    arms: Sequence[Arm],
    objective: Objective | None = None,
    *,
    declared: Collection[RowCode] = (),
    margin: float = MARGIN,
    earlier: EarlierSpread | None = None,
) -> list[ArmComparison]:
    """Compare each further arm with the first. The intervals hold jointly: Bonferroni over the comparisons.

    objective: None for the workload's own. margin: the smallest difference that matters, as a share.
    """
    baseline, *contenders = arms
    selected_objective = objective or propose_objective(arms)
    return [
        _compare(baseline, contender, selected_objective, frozenset(declared), margin, len(contenders), earlier)
        for contender in contenders
    ]


def pair_of(
    arms: tuple[Arm, Arm],
    objective: Objective,
    values: tuple[Sequence[float], Sequence[float]] = ((), ()),
    margin: float = MARGIN,
    declared: Collection[RowCode] = (),
) -> ArmPair:
    """Return two arms as the guard's input, with the claim that these values of their starts support."""
    pair = ArmPair(
        *arms,
        objective,
        shared_keys([load for arm in arms for load in loads_of(arm)]),
        None,
        frozenset(declared),
        margin=margin,
    )
    if not all(values) or min(min(side) for side in values) <= 0:
        return pair
    judgement = judge(*values, higher_is_better=objective.terms.higher_is_better, margin=margin)
    return replace(pair, ratio=judgement.ratio, is_claimed=judgement.answer in CLAIM_ANSWERS)


def propose_objective(arms: Sequence[Arm]) -> Objective:
    """Return the objective of these arms' workload; for imported logs, the speed by their log windows."""
    loads = [load for arm in arms for load in loads_of(arm)]
    if measured := [load for load in loads if load.measured]:
        return objectives_of(measured)[0]
    return Objective(
        ObjectiveKind.LOG_TPS
        if not loads or any(run.log for arm in arms for run in arm.runs)
        else ObjectiveKind.DECODE_TPS
    )


def available_objectives(arms: Sequence[Arm]) -> list[Objective]:
    """Return the objectives by which these arms can be compared."""
    loads = [load for arm in arms for load in loads_of(arm) if load.measured]
    is_logged = all(run.log for arm in arms for run in arm.runs)
    return (objectives_of(loads) if loads else [Objective(ObjectiveKind.STARTUP_S)]) + [
        Objective(ObjectiveKind.LOG_TPS)
    ] * is_logged


def _compare(
    baseline: Arm,
    contender: Arm,
    objective: Objective,
    declared: frozenset[RowCode],
    margin: float,
    comparisons: int,
    earlier: EarlierSpread | None,
) -> ArmComparison:
    loads = [*loads_of(baseline), *loads_of(contender)]
    keys = shared_keys(loads)
    evidence = evidence_keys(loads, objective)
    sides = tuple(
        tuple(make_replicate(run, objective, evidence) for run in arm.starts) for arm in (baseline, contender)
    )
    values = [[replicate.value for replicate in side if replicate.value is not None] for side in sides]
    if not all(values) or (
        objective.kind is ObjectiveKind.WORK_S and not _equal_tokens(loads, keys, objective.concurrency)
    ):
        pair = ArmPair(baseline, contender, objective, keys, declared=declared, margin=margin)
        return ArmComparison(pair, (sides[0], sides[1]), tuple(guard(pair)), no_value=_no_value(sides), margin=margin)
    terms = objective.terms
    judgement = judge(
        *values, higher_is_better=terms.higher_is_better, margin=margin, comparisons=comparisons, earlier=earlier
    )
    is_claimed = judgement.answer in CLAIM_ANSWERS
    pair = ArmPair(baseline, contender, objective, keys, judgement.ratio, declared, is_claimed, margin)
    factors = factor_ratios([[replicate.factors for replicate in side] for side in sides], margin, comparisons)
    return ArmComparison(
        pair,
        (sides[0], sides[1]),
        tuple(guard(pair)),
        judgement,
        compare_classes(sides, margin, comparisons),
        factors if judgement.interval else unclaimed(factors),
        _no_factors(sides),
        left_out=_left_out(loads, evidence, sides),
        margin=margin,
    )


def _no_factors(sides: Iterable[Sequence[Replicate]]) -> Reason | None:
    return next(
        (m.no_factors for side in sides for replicate in side for m in replicate.measured if m.no_factors), None
    )


def _no_value(sides: Iterable[Sequence[Replicate]]) -> Reason:
    reason = next(
        (replicate.reason for side in sides for replicate in side if replicate.value is None and replicate.reason), None
    )
    return reason or Reason(Code.TOKENS_DIFFER)


def _equal_tokens(loads: Sequence[LoadRecord], keys: frozenset[RequestKey], concurrency: int | None) -> bool:
    """Whether each request of this concurrency has equally many output tokens in all loads, and none is missing."""
    token_counts = [
        {key_of(r): r.completion_tokens for r in load.measured if r.concurrency == concurrency} for load in loads
    ]
    return all(counts == token_counts[0] and counts.keys() <= keys for counts in token_counts)


def _left_out(
    loads: Sequence[LoadRecord], keys: frozenset[RequestKey], sides: Iterable[Sequence[Replicate]]
) -> dict[str, int]:
    """Count requests that are no evidence, by reason, and server starts without a value."""
    measured = [r for load in loads for r in load.measured]
    failed = sum(r.error_kind is not None for r in measured)
    unmatched = sum(r.error_kind is None and key_of(r) not in keys for r in measured)
    warm = sum(r.phase != "measure" for load in loads for r in load.requests)
    silent = sum(replicate.value is None for side in sides for replicate in side)
    counts = {"warmup": warm, "failed": failed, "unmatched": unmatched, "starts": silent}
    return {name: count for name, count in counts.items() if count}
