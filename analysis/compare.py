"""The answer about two arms: how much, because of what, and whether that may be said.

A replicate is one server start; its value is the geometric mean over its loads. Values are judged by analysis.verdict;
the guard's rows decide whether the answer counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.arms import Arm
from analysis.evidence.factors import Factors, geometric_mean
from analysis.evidence.loads import LoadRecord, RequestKey, common_keys, key_of
from analysis.evidence.measure import Measured, measure
from analysis.evidence.objectives import Kind, Objective, objectives_of
from analysis.facts import RunFacts
from analysis.guard import Pair, Row, RowCode, guard, refusals
from analysis.guard.rows import loads_of
from analysis.reasons import Code, Reason
from analysis.verdict import Earlier, Judgement, interval_of_ratio, judge

MARGIN = 0.02  # the smallest difference that matters, unless another is set


@dataclass(frozen=True, slots=True)
class Replicate:
    """One server start's value of the objective; None with the reason."""

    run_id: str
    value: float | None
    measured: tuple[Measured, ...] = ()
    reason: Reason | None = None

    @property
    def factors(self) -> Factors | None:
        """Of all its loads; None where one has none."""
        told = [one.factors for one in self.measured if one.factors]
        return _mean(told) if told and len(told) == len(self.measured) else None


@dataclass(frozen=True, slots=True)
class Ratio:
    """Other over baseline, with its 95 % interval where there are repeats; the arms' own values beside it."""

    name: str
    ratio: float
    values: tuple[float, float]
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One class of prompts: its ratio and, where they are known, the factors of it."""

    ratio: Ratio
    factors: tuple[Ratio, ...] = ()


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
    matched: int = 0  # requests that all loads share
    left_out: Mapping[str, int] = field(default_factory=dict)  # why -> measured requests

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

    objective: what they are compared by; None for what the workload proposes.
    """
    baseline, *others = arms
    chosen = objective or propose(arms)
    return [_compare(baseline, other, chosen, frozenset(declared), margin, len(others), earlier) for other in others]


def propose(arms: Sequence[Arm]) -> Objective:
    """What the workload of these arms is for; of imported logs, their own windows."""
    loads = [load for arm in arms for load in loads_of(arm) if load.measured]
    return objectives_of(loads)[0] if loads else Objective(Kind.LOG_TPS)


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
    sides = tuple(tuple(replicate(run, objective, keys) for run in arm.runs) for arm in (baseline, other))
    values = [[one.value for one in side if one.value is not None] for side in sides]
    if not all(values) or (objective.kind is Kind.WORK_S and not _equal_tokens(loads, keys, objective.concurrency)):
        pair = Pair(baseline, other, objective, keys, declared=declared)
        return Comparison(pair, (sides[0], sides[1]), tuple(guard(pair)), no_value=_no_value(sides))
    terms = objective.terms
    judgement = judge(
        *values, higher_is_better=terms.higher_is_better, margin=margin, comparisons=comparisons, earlier=earlier
    )
    pair = Pair(baseline, other, objective, keys, judgement.ratio, declared)
    return Comparison(
        pair,
        (sides[0], sides[1]),
        tuple(guard(pair)),
        judgement,
        _parts(sides),
        _factors([[one.factors for one in side] for side in sides]),
        _no_factors(sides),
        matched=len(keys),
        left_out=_left_out(loads, keys),
    )


def replicate(run: RunFacts, objective: Objective, keys: frozenset[RequestKey]) -> Replicate:
    """The value of one server start: the geometric mean over its loads, or a fact of the run itself."""
    if objective.kind in OF_THE_RUN:
        return _of_the_run(run, objective)
    told = tuple(measure(load, objective, keys, run.speculates) for load in run.loads)
    values = [one.value for one in told if one.value]
    if not values:
        return Replicate(run.run_id, None, told, told[0].reason if told else Reason(Code.NO_LOAD))
    return Replicate(run.run_id, geometric_mean(values), tuple(one for one in told if one.value))


OF_THE_RUN = (Kind.STARTUP_S, Kind.LOG_TPS, Kind.TOKENS_PER_J)


def _of_the_run(run: RunFacts, objective: Objective) -> Replicate:
    if objective.kind is Kind.STARTUP_S:
        value, reason = run.startup_s, Reason(Code.NOT_STARTED_BY_US)
    elif objective.kind is Kind.LOG_TPS:
        value, reason = run.log and run.log.decode_tps, Reason(Code.NO_LOG_SPEED)
    else:
        value, reason = _tokens_per_j(run), Reason(Code.NO_ENERGY)
    return Replicate(run.run_id, value or None, reason=None if value else reason)


def _tokens_per_j(run: RunFacts) -> float | None:
    """Output tokens of the measured requests over the energy of the stretches in which they ran."""
    energies = [one.energy_j for one in run.conditions if one.energy_j is not None]
    tokens = sum(request.completion_tokens or 0 for load in run.loads for request in load.measured)
    return tokens / sum(energies) if len(energies) == len(run.loads) and sum(energies) > 0 else None


def _parts(sides: Sequence[Sequence[Replicate]]) -> tuple[Part, ...]:
    """The classes that every replicate has, in the order of the first one."""
    told = [[one.measured for one in side if one.value is not None] for side in sides]
    each = [measured for side in told for run in side for measured in run]
    names = [name for name in each[0].parts if all(name in one.parts for one in each)] if each else []
    return tuple(
        Part(_ratio(name, [[geometric_mean([m.parts[name] for m in run]) for run in side] for side in told]), split)
        for name in names
        for split in [_factors([[_class_factors(run, name) for run in side] for side in told])]
    )


def _class_factors(measured: Sequence[Measured], name: str) -> Factors | None:
    known = [one.part_factors[name] for one in measured if name in one.part_factors]
    return _mean(known) if known and len(known) == len(measured) else None


def _factors(sides: Sequence[Sequence[Factors | None]]) -> tuple[Ratio, ...]:
    """The factors whose product is the ratio; none where a replicate lacks them."""
    known = [[one for one in side if one] for side in sides]
    if not all(known) or [len(side) for side in known] != [len(side) for side in sides]:
        return ()
    names = ["tokens_per_step", "steps_per_s"]
    names += ["running"] * all(one.running is not None for side in known for one in side)
    return tuple(_ratio(name, [[getattr(one, name) for one in side] for side in known]) for name in names)


def _ratio(name: str, sides: Sequence[Sequence[float]]) -> Ratio:
    first, second = (geometric_mean(side) for side in sides)
    return Ratio(name, second / first, (first, second), interval_of_ratio(*sides))


def _mean(factors: Sequence[Factors]) -> Factors:
    running = [one.running for one in factors if one.running is not None]
    return Factors(
        geometric_mean([one.tokens_per_step for one in factors]),
        geometric_mean([one.steps_per_s for one in factors]),
        geometric_mean(running) if len(running) == len(factors) else None,
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


def _left_out(loads: Sequence[LoadRecord], keys: frozenset[RequestKey]) -> dict[str, int]:
    """Requests that are no evidence, by why."""
    measured = [r for load in loads for r in load.measured]
    failed = sum(r.error_kind is not None for r in measured)
    unmatched = sum(r.error_kind is None and key_of(r) not in keys for r in measured)
    warm = sum(r.phase != "measure" for load in loads for r in load.requests)
    return {name: n for name, n in (("warmup", warm), ("failed", failed), ("unmatched", unmatched)) if n}
