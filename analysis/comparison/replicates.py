"""Values that are compared: one per server start, with its factors and prompt classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.comparison.facts import RunFacts
from analysis.evidence.factors import SpeedFactors, geometric_mean
from analysis.evidence.loads import LoadRecord, RequestKey, is_positive
from analysis.evidence.measure import Measurement, measure, wall_s
from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.evidence.session_values import is_session_load, joules_a_session, sessions_of
from analysis.loads.agent_tasks import SolvedCount
from analysis.physics.money import StatedPrices, cost_of_work
from analysis.runs.conditions import Conditions
from analysis.verdict import MARGIN, FactorEffect, Ratio, factor_effects
from reasons import Code, Reason

RUN_OBJECTIVES = (
    ObjectiveKind.STARTUP_S,
    ObjectiveKind.LOG_TPS,
    ObjectiveKind.TOKENS_PER_J,
    ObjectiveKind.SESSION_J,
    ObjectiveKind.SESSION_COST,
    ObjectiveKind.SOLVED_PER_HOUR,
)
S_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Replicate:
    """One server start's value of the objective; None with a reason."""

    run_id: str
    value: float | None
    measured: tuple[Measurement, ...] = ()
    reason: Reason | None = None

    @property
    def factors(self) -> SpeedFactors | None:
        """The mean factors of all its loads; None if one load lacks them."""
        factors = [measurement.factors for measurement in self.measured if measurement.factors]
        return _mean(factors) if factors and len(factors) == len(self.measured) else None


@dataclass(frozen=True, slots=True)
class ClassComparison:
    """One class of prompts: its ratio and, if known, the ratio's factors."""

    ratio: Ratio
    factors: tuple[FactorEffect, ...] = ()


def make_replicate(run: RunFacts, objective: Objective, keys: frozenset[RequestKey]) -> Replicate:
    """Return the replicate of one server start: the geometric mean over its loads, or a fact of the run itself."""
    if objective.kind in RUN_OBJECTIVES:
        return _run_replicate(run, objective)
    if run.loads and not any(load.measured for load in run.loads):
        return Replicate(run.run_id, None, reason=Reason(Code.RESULTS_ALONE))
    measures = tuple(measure(load, objective, keys, run.speculates) for load in run.loads)
    valued = tuple(measurement for measurement in measures if is_positive(measurement.value))
    if not valued:
        return Replicate(run.run_id, None, measures, measures[0].reason if measures else Reason(Code.NO_LOAD))
    return Replicate(run.run_id, geometric_mean([measurement.value or 0.0 for measurement in valued]), valued)


def _run_replicate(run: RunFacts, objective: Objective) -> Replicate:
    if objective.kind is ObjectiveKind.STARTUP_S:
        value, reason = run.startup_s, Reason(Code.NOT_STARTED_BY_US)
    elif objective.kind is ObjectiveKind.LOG_TPS:
        value, reason = run.log and run.log.decode_tps, Reason(Code.NO_LOG_SPEED)
    elif objective.kind is ObjectiveKind.SESSION_J:
        value, reason = session_j(run.loads, run.conditions), Reason(why_no_session_j(run.loads))
    elif objective.kind is ObjectiveKind.SESSION_COST:
        value = session_cost(run.loads, run.conditions, objective.prices)
        reason = Reason(why_no_session_j(run.loads) if objective.prices else Code.NO_STATED_PRICES)
    elif objective.kind is ObjectiveKind.SOLVED_PER_HOUR:
        value, reason = solved_per_hour(run.loads, run.solved), Reason(why_none_solved(run.solved))
    else:
        value, reason = tokens_per_j(run.loads, run.conditions), Reason(why_no_joules(run.loads))
    return Replicate(run.run_id, value) if is_positive(value) else Replicate(run.run_id, None, reason=reason)


def session_j(loads: Sequence[LoadRecord], conditions: Sequence[Conditions]) -> float | None:
    """Return the energy of a run's loads of agent sessions over the number of their sessions."""
    return joules_a_session(loads, {condition.load_id: condition.energy_j for condition in conditions})


def why_no_session_j(loads: Sequence[LoadRecord]) -> Code:
    """Return why the energy a session is unknown: there is no session, or no energy."""
    return Code.NO_ENERGY if any(is_session_load(load) and load.measured for load in loads) else Code.NO_SESSION


def session_cost(
    loads: Sequence[LoadRecord], conditions: Sequence[Conditions], prices: StatedPrices | None
) -> float | None:
    """Return the cost of a run's loads of agent sessions over the number of their sessions.

    The energy need not be known if no price of it is stated.
    """
    measured = [load for load in loads if is_session_load(load) and load.measured]
    energy_j = session_j(loads, conditions) if prices and prices.per_kwh else 0.0
    if not (measured and prices) or energy_j is None:
        return None
    seconds = sum(wall_s(load.measured) for load in measured) / sum(len(sessions_of(load)) for load in measured)
    return cost_of_work(seconds, energy_j, prices.per_hour, prices.per_kwh)


def solved_per_hour(loads: Sequence[LoadRecord], solved: Mapping[str, SolvedCount]) -> float | None:
    """Return the solved repeats of a run's agent tasks over the hours that its agents worked; None if none was solved.

    The time is that of all agents, of unsolved tasks too; copying and checking do not count.
    """
    judged = [load for load in loads if load.load_id in solved]
    seconds = sum(phase.duration_s for load in judged for phase in load.phases)
    count = sum(solved[load.load_id].solved for load in judged if load.load_id)
    return count / seconds * S_PER_HOUR if count and seconds > 0 else None


def why_none_solved(solved: Mapping[str, SolvedCount]) -> Code:
    """Return why a run has no solved tasks an hour."""
    return Code.NONE_SOLVED if any(count.n for count in solved.values()) else Code.NO_TASK


def why_no_joules(loads: Sequence[LoadRecord]) -> Code:
    """Return why tokens per joule are unknown: the output tokens or the energy."""
    is_measured = any(load.measured for load in loads)
    return Code.NO_OUTPUT_TOKENS if is_measured and output_tokens(loads) is None else Code.NO_ENERGY


def tokens_per_j(loads: Sequence[LoadRecord], conditions: Sequence[Conditions]) -> float | None:
    """Return a run's measured output tokens over the energy used while these requests ran."""
    energies = [condition.energy_j for condition in conditions if condition.energy_j is not None]
    tokens = output_tokens(loads)
    measured = [load for load in loads if load.measured]
    return tokens / sum(energies) if tokens and len(energies) == len(measured) and sum(energies) > 0 else None


def output_tokens(loads: Sequence[LoadRecord]) -> int | None:
    """Return the output tokens of all measured requests; None if a successful one does not state its count."""
    usable_requests = [
        r for load in loads for r in load.measured if r.completion_tokens is not None or r.error_kind is None
    ]
    counts = [r.completion_tokens for r in usable_requests if r.completion_tokens is not None]
    return sum(counts) if counts and len(counts) == len(usable_requests) else None


def compare_classes(
    sides: Sequence[Sequence[Replicate]], margin: float = MARGIN, comparisons: int = 1
) -> tuple[ClassComparison, ...]:
    """Compare the classes that every replicate has, in the order of the first one."""
    by_side = [[replicate.measured for replicate in side if replicate.value is not None] for side in sides]
    measurements = [measured for side in by_side for run in side for measured in run]
    names = (
        [
            name
            for name in measurements[0].values_by_class
            if all(name in measurement.values_by_class for measurement in measurements)
        ]
        if measurements
        else []
    )
    return tuple(
        ClassComparison(
            Ratio.of_sides(
                name, *([geometric_mean([m.values_by_class[name] for m in run]) for run in side] for side in by_side)
            ),
            factor_ratios([[_class_factors(run, name) for run in side] for side in by_side], margin, comparisons),
        )
        for name in names
    )


def _class_factors(measured: Sequence[Measurement], name: str) -> SpeedFactors | None:
    class_factors = [
        measurement.factors_by_class[name] for measurement in measured if name in measurement.factors_by_class
    ]
    return _mean(class_factors) if class_factors and len(class_factors) == len(measured) else None


def factor_ratios(
    sides: Sequence[Sequence[SpeedFactors | None]], margin: float = MARGIN, comparisons: int = 1
) -> tuple[FactorEffect, ...]:
    """Return the factors whose product is the ratio; empty if a replicate lacks them."""
    complete_sides = [[factors for factors in side if factors] for side in sides]
    if not all(complete_sides) or [len(side) for side in complete_sides] != [len(side) for side in sides]:
        return ()
    if any(factors.queueing is None for side in complete_sides for factors in side):
        complete_sides = [[factors.without_queue for factors in side] for side in complete_sides]
    fields = [
        name
        for name in SpeedFactors._fields
        if all(getattr(factors, name) is not None for side in complete_sides for factors in side)
    ]
    names = {"decoding": "prefill" if "queueing" in fields else "first_token"}
    values = [
        [{names.get(name, name): getattr(factors, name) for name in fields} for factors in side]
        for side in complete_sides
    ]
    return factor_effects(values, margin, comparisons)


def _mean(factors: Sequence[SpeedFactors]) -> SpeedFactors:
    if any(factor.queueing is None for factor in factors):
        factors = [factor.without_queue for factor in factors]
    columns = [[value for value in column if value is not None] for column in zip(*factors, strict=True)]
    means = [geometric_mean(column) if len(column) == len(factors) else None for column in columns]
    return SpeedFactors(means[0] or 0.0, means[1] or 0.0, *means[2:])
