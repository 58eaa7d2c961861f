"""The answer about two arms: how much, because of what, and whether that may be said.

A replicate is one server start; its value is the geometric mean over its loads. Values are judged by analysis.verdict;
the guard's rows decide whether the answer counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.comparison.arms import Arm
from analysis.comparison.replicates import Part, Ratio, Replicate, factor_ratios, parts_of, replicate
from analysis.evidence.loads import LoadRecord, RequestKey, common_keys, key_of
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Kind, Objective, objectives_of
from analysis.guard import Pair, Row, RowCode, guard, refusals
from analysis.guard.rows import loads_of
from analysis.verdict import MARGIN, Answer, Earlier, Judgement, judge
from reasons import Code, Reason

CLAIMED = (Answer.BETTER, Answer.WORSE, Answer.DIFFERENT)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm against the baseline. It is ranked where `judgement` is there and no row of the guard refuses."""

    pair: Pair
    replicates: tuple[tuple[Replicate, ...], tuple[Replicate, ...]]
    rows: tuple[Row, ...]
    judgement: Judgement | None = None
    parts: tuple[Part, ...] = ()
    factors: tuple[Ratio, ...] = ()
    no_factors: Reason | None = None
    no_value: Reason | None = None  # why one of the arms has no value
    left_out: Mapping[str, int] = field(default_factory=dict)  # why -> requests; 'starts': those without a value
    margin: float = MARGIN  # the smallest difference that matters

    @property
    def is_ranked(self) -> bool:
        return self.judgement is not None and not self.refused

    @property
    def refused(self) -> list[Row]:
        return refusals(self.rows)


def compare_arms(
    arms: Sequence[Arm],
    objective: Objective | None = None,
    *,
    declared: Collection[RowCode] = (),
    margin: float = MARGIN,
    earlier: Earlier | None = None,
) -> list[Comparison]:
    """Each further arm against the first. Their intervals hold together: Bonferroni over the comparisons.

    objective: what they are compared by; None for what the workload proposes. margin: the smallest difference that
    matters, as a share.
    """
    baseline, *others = arms
    chosen = objective or propose(arms)
    return [_compare(baseline, other, chosen, frozenset(declared), margin, len(others), earlier) for other in others]


def pair_of(
    arms: tuple[Arm, Arm],
    objective: Objective,
    values: tuple[Sequence[float], Sequence[float]] = ((), ()),
    margin: float = MARGIN,
    declared: Collection[RowCode] = (),
) -> Pair:
    """Two arms as the guard looks at them, with what these values of their starts would say."""
    pair = Pair(
        *arms, objective, common_keys([load for arm in arms for load in loads_of(arm)]), None, frozenset(declared)
    )
    if not all(values) or min(min(side) for side in values) <= 0:
        return pair
    judged = judge(*values, higher_is_better=objective.terms.higher_is_better, margin=margin)
    return replace(pair, ratio=judged.ratio, is_claimed=judged.answer in CLAIMED)


def propose(arms: Sequence[Arm]) -> Objective:
    """What the workload of these arms is for; of imported logs, their own windows."""
    loads = [load for arm in arms for load in loads_of(arm)]
    if measured := [load for load in loads if load.measured]:
        return objectives_of(measured)[0]
    return Objective(Kind.LOG_TPS if not loads or any(run.log for arm in arms for run in arm.runs) else Kind.DECODE_TPS)


def available(arms: Sequence[Arm]) -> list[Objective]:
    """What these arms can be compared by."""
    loads = [load for arm in arms for load in loads_of(arm) if load.measured]
    is_logged = all(run.log for arm in arms for run in arm.runs)
    return (objectives_of(loads) if loads else [Objective(Kind.STARTUP_S)]) + [Objective(Kind.LOG_TPS)] * is_logged


def _compare(
    baseline: Arm,
    other: Arm,
    objective: Objective,
    declared: frozenset[RowCode],
    margin: float,
    comparisons: int,
    earlier: Earlier | None,
) -> Comparison:
    loads = [*loads_of(baseline), *loads_of(other)]
    keys = common_keys(loads)
    evidence = evidence_keys(loads, objective)
    sides = tuple(tuple(replicate(one, objective, evidence) for one in arm.starts) for arm in (baseline, other))
    values = [[one.value for one in side if one.value is not None] for side in sides]
    if not all(values) or (objective.kind is Kind.WORK_S and not _equal_tokens(loads, keys, objective.concurrency)):
        pair = Pair(baseline, other, objective, keys, declared=declared)
        return Comparison(pair, (sides[0], sides[1]), tuple(guard(pair)), no_value=_no_value(sides), margin=margin)
    terms = objective.terms
    judgement = judge(
        *values, higher_is_better=terms.higher_is_better, margin=margin, comparisons=comparisons, earlier=earlier
    )
    pair = Pair(baseline, other, objective, keys, judgement.ratio, declared, judgement.answer in CLAIMED)
    return Comparison(
        pair,
        (sides[0], sides[1]),
        tuple(guard(pair)),
        judgement,
        parts_of(sides),
        factor_ratios([[one.factors for one in side] for side in sides]),
        _no_factors(sides),
        left_out=_left_out(loads, evidence, sides),
        margin=margin,
    )


def _no_factors(sides: Iterable[Sequence[Replicate]]) -> Reason | None:
    return next((m.no_factors for side in sides for one in side for m in one.measured if m.no_factors), None)


def _no_value(sides: Iterable[Sequence[Replicate]]) -> Reason:
    found = next((one.reason for side in sides for one in side if one.value is None and one.reason), None)
    return found or Reason(Code.TOKENS_DIFFER)


def _equal_tokens(loads: Sequence[LoadRecord], keys: frozenset[RequestKey], concurrency: int | None) -> bool:
    """Whether each request of this concurrency was answered with as many tokens everywhere, and none is missing."""
    asked = [{key_of(r): r.completion_tokens for r in load.measured if r.concurrency == concurrency} for load in loads]
    return all(one == asked[0] and one.keys() <= keys for one in asked)


def _left_out(
    loads: Sequence[LoadRecord], keys: frozenset[RequestKey], sides: Iterable[Sequence[Replicate]]
) -> dict[str, int]:
    """Requests that are no evidence, by why; and server starts that gave no value."""
    measured = [r for load in loads for r in load.measured]
    failed = sum(r.error_kind is not None for r in measured)
    unmatched = sum(r.error_kind is None and key_of(r) not in keys for r in measured)
    warm = sum(r.phase != "measure" for load in loads for r in load.requests)
    silent = sum(one.value is None for side in sides for one in side)
    counts = {"warmup": warm, "failed": failed, "unmatched": unmatched, "starts": silent}
    return {name: count for name, count in counts.items() if count}
