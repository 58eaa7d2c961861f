"""Rankings of a comparison's arms from every viewpoint, by the values of their server starts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import stdev

from analysis.compare_arms import pair_of
from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import make_replicate, session_j
from analysis.decide.rank import RankCandidate, Ranking, Refusals, no_pairs, rank
from analysis.decide.viewpoints import ALL_ROWS, VIEWS, EvidenceKind, Viewpoint, ViewpointTerms
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.evidence.session_values import is_session_load, sessions_of
from analysis.guard import GuardRow, RowCode, RowStatus, guard, refusals
from analysis.guard.quality import fidelity_of
from analysis.guard.rows import loads_of
from analysis.loads.accuracy import ShareInterval
from analysis.loads.fidelity import Fidelity
from analysis.loads.paired_accuracy import PairedItems
from analysis.physics.formula_result import evaluate
from analysis.physics.money import cost_of_work
from domain import Run
from load_records import Accuracy
from reasons import Code, Reason
from reports.arms.accuracy import accuracies_of, items_between, read_item_pairs
from reports.arms.comparison import ComparisonReport, load_objective
from reports.arms.other_loads import without_loads
from reports.runs.measured_loads import measured_span
from reports.runs.physics import Physics, physics_of
from reports.runs.prices import Prices, prices_of
from reports.runs.run_report import RunReport, report_on
from reports.runs.users_held import users_held
from storage.queries.load_queries import ItemPairs, LoadOutcome, outcomes
from storage.queries.run_data import Queryable

LABELS = {"attached": "watched", "imported": "imported"}
FEWEST_STARTS = 2
NO_PRICES = Prices()
StartValue = tuple[float | None, Reason | None]
OBJECTIVES: Mapping[Viewpoint, ObjectiveKind] = {
    Viewpoint.ENERGY: ObjectiveKind.TOKENS_PER_J,
    Viewpoint.SESSION_COST: ObjectiveKind.SESSION_J,
    Viewpoint.COST: ObjectiveKind.TOKENS_PER_J,  # like energy, it covers all seconds of a load, including prefill
    Viewpoint.STARTUP: ObjectiveKind.STARTUP_S,
}
BY_COMPARED_OBJECTIVE = (Viewpoint.COMPARED, Viewpoint.STABILITY)
BY_WINDOWS = (Viewpoint.PEAK_P99, Viewpoint.PEAK_MAXIMUM, Viewpoint.TYPICAL, Viewpoint.FLOOR)
SAME_LENGTH = 0.1  # largest relative difference of two windows' lengths


@dataclass(frozen=True, slots=True)
class ViewpointInputs:
    """Data that the viewpoints need; each mapping by run id."""

    report: ComparisonReport
    reports: Mapping[str, RunReport]
    physics: Mapping[str, Physics]
    outcomes: Mapping[str, Mapping[str, LoadOutcome]]
    item_pairs: ItemPairs = field(default_factory=dict)
    prices: Mapping[str, Prices] = field(default_factory=dict)  # by run id

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self.report.arms


def viewpoint_inputs(store: Queryable, report: ComparisonReport, runs: Sequence[Run], prices: Path) -> ViewpointInputs:
    """Collect the data of these runs, which are those of the comparison's arms."""
    facts = {run.run_id: run for arm in report.arms for run in arm.runs}
    run_reports = report_on(store, [run for run in runs if run.id in facts])
    reports = {
        run_report.run.id: without_loads(run_report, report.other_loads.get(run_report.run.id, ()))
        for run_report in run_reports
    }
    physics = {
        run_id: physics_of(store, run_report, facts[run_id], prices_of(prices, run_report.run.machine_id))
        for run_id, run_report in reports.items()
    }
    load_outcomes = outcomes(store, list(reports))
    item_pairs = read_item_pairs(store, report.arms, load_outcomes)
    run_prices = {run_id: prices_of(prices, row.run.machine_id) for run_id, row in reports.items()}
    return ViewpointInputs(report, reports, physics, load_outcomes, item_pairs, run_prices)


def rankings(inputs: ViewpointInputs) -> list[Ranking]:
    """Return the ranking of every viewpoint, in order; one without values gives a reason for each arm."""
    return [_ranking(inputs, viewpoint) for viewpoint in Viewpoint]


def _ranking(inputs: ViewpointInputs, viewpoint: Viewpoint) -> Ranking:
    objective = _objective(inputs, viewpoint)
    view = _view(inputs, viewpoint, objective)
    candidates = [candidate_of(inputs, viewpoint, arm, objective) for arm in inputs.arms]

    refusals_between = refusals_of(inputs, view, candidates, objective)
    if viewpoint in BY_WINDOWS:
        refusals_between = _with_definition_rows(inputs, refusals_between)
    pairs_of = partial(_items, inputs) if viewpoint is Viewpoint.QUALITY else no_pairs
    return rank(viewpoint, view, candidates, refusals_between, inputs.report.margin, pairs_of)


def refusals_of(
    inputs: ViewpointInputs, view: ViewpointTerms, candidates: Sequence[RankCandidate], objective: Objective
) -> Refusals:
    """Return a function of two arm ids that gives the guard rows forbidding to rank the second against the first."""
    arms = {arm.id: arm for arm in inputs.arms}
    values = {candidate.arm_id: _oriented(candidate.values, view, objective) for candidate in candidates}

    def refusals_between(first: str, second: str) -> list[GuardRow]:
        start_values = (values[first], values[second])
        return refusals(
            guard(
                pair_of(
                    (arms[first], arms[second]), objective, start_values, inputs.report.margin, inputs.report.declared
                )
            )
        )

    return refusals_between


def _with_definition_rows(inputs: ViewpointInputs, refusals_between: Refusals) -> Refusals:
    """Extend the refusals: windows of a log are not compared with those of counters, nor long ones with short ones."""
    arms = {arm.id: arm for arm in inputs.arms}

    def all_refusals(first: str, second: str) -> list[GuardRow]:
        definitions = tuple(
            sorted({_window_kind(inputs, start) for start in arms[arm_id].starts}) for arm_id in (first, second)
        )
        row = GuardRow(RowCode.DEFINITION, RowStatus.MATTERS, {"definitions": definitions})
        return [
            *refusals_between(first, second),
            *([] if _are_alike([windows for side in definitions for windows in side]) else [row]),
        ]

    return all_refusals


def _window_kind(inputs: ViewpointInputs, start: RunFacts) -> tuple[str, float]:
    """Return the definition of a start's windows and their length in seconds; 0 if each log line has its own."""
    summary = inputs.reports[start.run_id].summary
    return summary.definition or "not known", summary.window_s or 0.0


def _are_alike(windows: Sequence[tuple[str, float]]) -> bool:
    """Whether windows are comparable: all from counters, or all from the same log definition, of similar length."""
    kinds = {definition if definition.endswith(".log") else "counted" for definition, _ in windows}
    lengths = [length for _, length in windows]
    return len(kinds) <= 1 and max(lengths, default=0.0) <= (1 + SAME_LENGTH) * min(lengths, default=0.0)


def _oriented(values: Sequence[float], view: ViewpointTerms, objective: Objective) -> list[float]:
    """Return the values oriented like the objective; none unless there is one positive value per start."""
    if view.evidence is not EvidenceKind.STARTS or min(values, default=0) <= 0:
        return []
    is_alike = view.higher_is_better == objective.terms.higher_is_better
    return [value if is_alike else 1 / value for value in values]


def _objective(inputs: ViewpointInputs, viewpoint: Viewpoint) -> Objective:
    """Return the objective that the guard checks; for most viewpoints that of the loads."""
    if viewpoint in BY_COMPARED_OBJECTIVE:
        return inputs.report.objective
    if viewpoint is Viewpoint.TTFT:
        ttft_objectives = [
            objective for objective in inputs.report.objectives if objective.kind is ObjectiveKind.TTFT_MS
        ]
        return min(
            ttft_objectives, key=lambda objective: objective.concurrency or 0, default=load_objective(inputs.report)
        )
    return Objective(OBJECTIVES[viewpoint]) if viewpoint in OBJECTIVES else load_objective(inputs.report)


def _view(inputs: ViewpointInputs, viewpoint: Viewpoint, objective: Objective) -> ViewpointTerms:
    terms = objective.terms
    if viewpoint is Viewpoint.COMPARED:
        title = objective.title[:1].upper() + objective.title[1:]
        return ViewpointTerms(title, terms.unit, terms.higher_is_better, terms.meaning, rows=ALL_ROWS)
    view = VIEWS[viewpoint]
    if viewpoint is Viewpoint.TTFT and objective.kind is ObjectiveKind.TTFT_MS:
        return replace(view, title=f"{view.title}, {objective.load_label}")
    if viewpoint is Viewpoint.KV_CAPACITY and (context := _context(inputs)):
        return replace(view, title=f"KV capacity, requests of {context:,} tokens")
    if viewpoint is Viewpoint.QUALITY and (task := _task(inputs)):
        return replace(view, title=f"Quality, {task[0]}")
    return view


def candidate_of(inputs: ViewpointInputs, viewpoint: Viewpoint, arm: Arm, objective: Objective) -> RankCandidate:
    """Return the candidate of one arm from a viewpoint, or by the objective if the viewpoint is the compared one."""
    label = LABELS.get(arm.runs[0].kind)
    if viewpoint is Viewpoint.QUALITY:
        return replace(_quality(inputs, arm), label=label)
    if viewpoint is Viewpoint.FIDELITY:
        return replace(_fidelity(inputs, arm), label=label)
    if viewpoint is Viewpoint.STABILITY:
        return replace(_stability(inputs, arm, objective), label=label)
    start_values = [_value(inputs, viewpoint, start, objective) for start in arm.starts]
    values = tuple(value for value, _ in start_values if value is not None)
    if viewpoint is Viewpoint.KV_CAPACITY:
        values = values[:1]
    return RankCandidate(
        arm.id, values, None if values else next((reason for _, reason in start_values if reason), None), label
    )


def _value(inputs: ViewpointInputs, viewpoint: Viewpoint, start: RunFacts, objective: Objective) -> StartValue:
    """Return the value of one server start."""
    if viewpoint in (Viewpoint.COMPARED, Viewpoint.STARTUP, Viewpoint.TTFT):
        return _measured(inputs, start, objective)
    return START_VALUES[viewpoint](inputs, start)


def _measured(inputs: ViewpointInputs, start: RunFacts, objective: Objective) -> StartValue:
    """Measure over the requests that all launched arms share; an arm that shares none uses its own and is refused."""
    launched = [load for arm in inputs.arms for load in loads_of(arm) if load.measured and _is_launched(arm)]
    shared = evidence_keys(launched, objective) if start.kind not in LABELS else frozenset()
    replicate = make_replicate(
        start, objective, shared or evidence_keys([load for load in start.loads if load.measured], objective)
    )
    return replicate.value, replicate.reason


def _is_launched(arm: Arm) -> bool:
    return arm.runs[0].kind not in LABELS


def _summary_value(name: str) -> Callable[[ViewpointInputs, RunFacts], StartValue]:
    def value_of(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
        summary = inputs.reports[start.run_id].summary
        return getattr(summary.alone, name), summary.no_typical

    return value_of


def _peak_value(name: str) -> Callable[[ViewpointInputs, RunFacts], StartValue]:
    def value_of(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
        summary = inputs.reports[start.run_id].summary
        peak = summary.alone.peak
        return (getattr(peak, name), None) if peak else (None, summary.no_typical or summary.alone.no_peak)

    return value_of


def _acceptance(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
    acceptance = inputs.reports[start.run_id].acceptance
    return acceptance.length, acceptance.reason


def _users_held(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
    value = users_held(inputs.outcomes.get(start.run_id, {}))
    return value, None if value is not None else Reason(Code.NO_USERS_HELD)


def _requests_that_fit(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
    context = _context(inputs)
    fits = {fit.context_tokens: fit.requests.value for fit in inputs.physics[start.run_id].fits}
    value = fits.get(context) if context else None
    return value, None if value is not None else Reason(Code.NO_KV_CAPACITY)


def _energy(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
    value, reason = inputs.physics[start.run_id].tokens_per_joule
    return (1 / value if value else None), reason


def _cost(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
    return inputs.physics[start.run_id].cost


def _session_cost(inputs: ViewpointInputs, start: RunFacts) -> StartValue:
    """Return price and energy of a start's agent sessions, over their number."""
    loads = [load for load in start.loads if is_session_load(load) and load.measured]
    if not loads:
        return None, Reason(Code.NO_SESSION)
    prices, sessions = inputs.prices.get(start.run_id, NO_PRICES), sum(len(sessions_of(load)) for load in loads)
    joules = session_j(loads, start.conditions)
    cost = evaluate(
        cost_of_work,
        seconds=sum(span.seconds for load in loads if (span := measured_span(load))),
        energy_j=None if joules is None else joules * sessions, price_per_hour=prices.per_hour,
        price_per_kwh=prices.per_kwh,
    )  # fmt: skip
    return None if cost.value is None else cost.value / sessions, cost.reason


START_VALUES: Mapping[Viewpoint, Callable[[ViewpointInputs, RunFacts], StartValue]] = {
    Viewpoint.PEAK_P99: _peak_value("p99"),
    Viewpoint.PEAK_MAXIMUM: _peak_value("maximum"),
    Viewpoint.TYPICAL: _summary_value("typical_tps"),
    Viewpoint.FLOOR: _summary_value("floor_tps"),
    Viewpoint.ACCEPTANCE: _acceptance,
    Viewpoint.LOAD_HELD: _users_held,
    Viewpoint.KV_CAPACITY: _requests_that_fit,
    Viewpoint.ENERGY: _energy,
    Viewpoint.COST: _cost,
    Viewpoint.SESSION_COST: _session_cost,
}


def _context(inputs: ViewpointInputs) -> int | None:
    """Return the longest request length for which every arm with any known capacity has one."""
    lengths = [
        {fit.context_tokens for fit in inputs.physics[arm.id].fits if fit.requests.value is not None}
        for arm in inputs.arms
    ]
    shared = (
        set.intersection(*known_lengths)
        if (known_lengths := [context_lengths for context_lengths in lengths if context_lengths])
        else set()
    )
    return max(shared, default=None)


def _fidelity(inputs: ViewpointInputs, arm: Arm) -> RankCandidate:
    """Return the arm's agreement with the first arm; of the first arm, that of its second start."""
    measured = [
        (answer.pair.contender.id, fidelity)
        for answer in inputs.report.answers
        if isinstance(fidelity := fidelity_of(answer.pair), Fidelity)
    ]
    is_first = arm is inputs.arms[0]
    estimate = next(
        (f.floor if is_first else f.agreement for arm_id, f in measured if is_first or arm_id == arm.id), None
    )
    if estimate is None:
        return RankCandidate(arm.id, reason=Reason(Code.NO_FIDELITY))
    is_known = estimate.low is not None and estimate.high is not None
    share = ShareInterval(estimate.low or 0.0, estimate.high or 0.0) if is_known else None
    return RankCandidate(arm.id, (100 * estimate.value,), share=share)


def _stability(inputs: ViewpointInputs, arm: Arm, objective: Objective) -> RankCandidate:
    """Return the standard deviation of the log values of its starts, in per cent."""
    start_values = [_measured(inputs, start, objective) for start in arm.starts]
    logs = [math.log(value) for value, _ in start_values if value is not None]
    if len(logs) < FEWEST_STARTS:
        few = Reason(Code.TOO_FEW_STARTS, values={"starts": len(logs), "fewest": FEWEST_STARTS})
        return RankCandidate(arm.id, reason=next((reason for _, reason in start_values if reason), few))
    return RankCandidate(arm.id, (100 * stdev(logs),), starts=len(logs))


Task = tuple[str, str, str, str | None]


def _task(inputs: ViewpointInputs) -> Task | None:
    """Return the first task that every arm with an accuracy shares, under one protocol."""
    scored = [accuracies for arm in inputs.arms if (accuracies := accuracies_of(arm, inputs.outcomes))]
    tasks = [list(map(_task_of, accuracies)) for accuracies in scored]
    return (
        next((candidate for candidate in tasks[0] if all(candidate in arm_tasks for arm_tasks in tasks)), None)
        if tasks
        else None
    )


def _task_of(accuracy: Accuracy) -> Task:
    return accuracy.task, accuracy.filter, accuracy.metric, accuracy.protocol_hash


def _shared_accuracy(inputs: ViewpointInputs, arm: Arm) -> Accuracy | None:
    """Return the arm's first accuracy on the shared task."""
    task = _task(inputs)
    accuracies = accuracies_of(arm, inputs.outcomes)
    return next((accuracy for accuracy in accuracies if _task_of(accuracy) == task), None)


def _items(inputs: ViewpointInputs, first: str, second: str) -> PairedItems | None:
    """Return the items of the shared task that were scored for both arms."""
    arms = {arm.id: arm for arm in inputs.arms}
    baseline, contender = _shared_accuracy(inputs, arms[first]), _shared_accuracy(inputs, arms[second])
    return items_between(inputs.item_pairs, baseline, contender) if baseline and contender else None


def _quality(inputs: ViewpointInputs, arm: Arm) -> RankCandidate:
    accuracy = _shared_accuracy(inputs, arm)
    if accuracy is None or accuracy.value is None:
        return RankCandidate(arm.id, reason=Reason(Code.NO_ACCURACY))
    share = (
        ShareInterval(accuracy.low, accuracy.high) if accuracy.low is not None and accuracy.high is not None else None
    )
    return RankCandidate(arm.id, (100 * accuracy.value,), share=share)
