"""The values that are compared: one for each server start, with the factors and the classes they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparison.facts import RunFacts
from analysis.evidence.factors import Factors, geometric_mean
from analysis.evidence.loads import LoadRecord, RequestKey, is_positive
from analysis.evidence.measure import Measured, measure
from analysis.evidence.objectives import Kind, Objective
from analysis.runs.conditions import Conditions
from analysis.verdict import interval_of_ratio
from reasons import Code, Reason

OF_THE_RUN = (Kind.STARTUP_S, Kind.LOG_TPS, Kind.TOKENS_PER_J)
FACTOR_NAMES = ("tokens_per_step", "steps_per_s", "running")


@dataclass(frozen=True, slots=True)
class Replicate:
    """One server start's value of the objective; None with the reason."""

    run_id: str
    value: float | None
    measured: tuple[Measured, ...] = ()
    reason: Reason | None = None

    @property
    def factors(self) -> Factors | None:
        """The mean factors of all its loads; None where one has none."""
        factors = [one.factors for one in self.measured if one.factors]
        return _mean(factors) if factors and len(factors) == len(self.measured) else None


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


def replicate(run: RunFacts, objective: Objective, keys: frozenset[RequestKey]) -> Replicate:
    """The value of one server start: the geometric mean over its loads, or a fact of the run itself."""
    if objective.kind in OF_THE_RUN:
        return _of_the_run(run, objective)
    if run.loads and not any(load.measured for load in run.loads):
        return Replicate(run.run_id, None, reason=Reason(Code.RESULTS_ALONE))
    measures = tuple(measure(load, objective, keys, run.speculates) for load in run.loads)
    known = tuple(one for one in measures if is_positive(one.value))
    if not known:
        return Replicate(run.run_id, None, measures, measures[0].reason if measures else Reason(Code.NO_LOAD))
    return Replicate(run.run_id, geometric_mean([one.value or 0.0 for one in known]), known)


def _of_the_run(run: RunFacts, objective: Objective) -> Replicate:
    if objective.kind is Kind.STARTUP_S:
        value, reason = run.startup_s, Reason(Code.NOT_STARTED_BY_US)
    elif objective.kind is Kind.LOG_TPS:
        value, reason = run.log and run.log.decode_tps, Reason(Code.NO_LOG_SPEED)
    else:
        value, reason = tokens_per_j(run.loads, run.conditions), Reason(why_no_joules(run))
    return Replicate(run.run_id, value) if is_positive(value) else Replicate(run.run_id, None, reason=reason)


def why_no_joules(run: RunFacts) -> Code:
    """Why there are no tokens per joule: the answers' tokens are not known, or their energy is not."""
    is_measured = any(load.measured for load in run.loads)
    return Code.NO_OUTPUT_TOKENS if is_measured and output_tokens(run.loads) is None else Code.NO_ENERGY


def tokens_per_j(loads: Sequence[LoadRecord], conditions: Sequence[Conditions]) -> float | None:
    """Output tokens of the measured requests of a run over the energy of the stretches in which they ran."""
    energies = [one.energy_j for one in conditions if one.energy_j is not None]
    tokens = output_tokens(loads)
    measured = [load for load in loads if load.measured]
    return tokens / sum(energies) if tokens and len(energies) == len(measured) and sum(energies) > 0 else None


def output_tokens(loads: Sequence[LoadRecord]) -> int | None:
    """The output tokens of all measured requests; None where one that ended well does not state its own."""
    counted = [r for load in loads for r in load.measured if r.completion_tokens is not None or r.error_kind is None]
    counts = [r.completion_tokens for r in counted if r.completion_tokens is not None]
    return sum(counts) if counts and len(counts) == len(counted) else None


def parts_of(sides: Sequence[Sequence[Replicate]]) -> tuple[Part, ...]:
    """The classes that every replicate has, in the order of the first one."""
    by_side = [[one.measured for one in side if one.value is not None] for side in sides]
    each = [measured for side in by_side for run in side for measured in run]
    names = [name for name in each[0].parts if all(name in one.parts for one in each)] if each else []
    return tuple(
        Part(_ratio(name, [[geometric_mean([m.parts[name] for m in run]) for run in side] for side in by_side]), split)
        for name in names
        for split in [factor_ratios([[_class_factors(run, name) for run in side] for side in by_side])]
    )


def _class_factors(measured: Sequence[Measured], name: str) -> Factors | None:
    known = [one.part_factors[name] for one in measured if name in one.part_factors]
    return _mean(known) if known and len(known) == len(measured) else None


def factor_ratios(sides: Sequence[Sequence[Factors | None]]) -> tuple[Ratio, ...]:
    """The factors whose product is the ratio; none where a replicate lacks them."""
    known = [[one for one in side if one] for side in sides]
    if not all(known) or [len(side) for side in known] != [len(side) for side in sides]:
        return ()
    names = [n for n in FACTOR_NAMES if all(getattr(one, n) is not None for side in known for one in side)]
    return tuple(_ratio(name, [[getattr(one, name) for one in side] for side in known]) for name in names)


def _ratio(name: str, sides: Sequence[Sequence[float]]) -> Ratio:
    first, second = (geometric_mean(side) for side in sides)
    return Ratio(name, second / first, (first, second), interval_of_ratio(sides[0], sides[1]))


def _mean(factors: Sequence[Factors]) -> Factors:
    running = [one.running for one in factors if one.running is not None]
    return Factors(
        geometric_mean([one.tokens_per_step for one in factors]),
        geometric_mean([one.steps_per_s for one in factors]),
        geometric_mean(running) if len(running) == len(factors) else None,
    )
