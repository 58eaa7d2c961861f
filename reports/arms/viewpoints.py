"""The arms of a comparison from every viewpoint: the values of their starts, and who is best."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import stdev

from analysis.comparison.arms import Arm
from analysis.comparison.compare import pair_of
from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import replicate
from analysis.decide.rank import Candidate, Ranking, Refusals, rank
from analysis.decide.viewpoints import ALL_ROWS, VIEWS, Evidence, View, Viewpoint
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Kind, Objective
from analysis.guard import Row, RowCode, Standing, guard, refusals
from analysis.guard.rows import loads_of
from analysis.loads.accuracy import Interval
from commands.study_file import USERS_HELD
from domain import Run
from load_records import Accuracy
from reasons import Code, Reason
from reports.arms.comparison import ComparisonReport, of_the_loads
from reports.arms.other_loads import apart_from
from reports.runs.physics import Physics, physics_of
from reports.runs.prices import prices_of
from reports.runs.run_report import RunReport, report_on
from storage.ask.load_queries import Outcome, outcomes
from storage.ask.queries import Asked

LABELS = {"attached": "watched", "imported": "imported"}
FEWEST_STARTS = 2
Value = tuple[float | None, Reason | None]
OBJECTIVES: Mapping[Viewpoint, Kind] = {
    Viewpoint.ENERGY: Kind.TOKENS_PER_J,
    Viewpoint.COST: Kind.TOKENS_PER_J,  # as energy it is of all seconds of a load, prefill among them
    Viewpoint.STARTUP: Kind.STARTUP_S,
}
OF_WHAT_IS_COMPARED = (Viewpoint.COMPARED, Viewpoint.STABILITY)
OF_WINDOWS = (Viewpoint.PEAK_P99, Viewpoint.PEAK_MAXIMUM, Viewpoint.TYPICAL, Viewpoint.FLOOR)
SAME_LENGTH = 0.1  # of two windows


@dataclass(frozen=True, slots=True)
class Known:
    """What the arms are looked at by; each mapping by run id."""

    report: ComparisonReport
    reports: Mapping[str, RunReport]
    physics: Mapping[str, Physics]
    outcomes: Mapping[str, Mapping[str, Outcome]]
    declared: frozenset[RowCode] = frozenset()

    @property
    def arms(self) -> tuple[Arm, ...]:
        return self.report.arms


def known_of(
    store: Asked, report: ComparisonReport, runs: Sequence[Run], prices: Path, declared: Collection[RowCode] = ()
) -> Known:
    """Everything that the viewpoints need of these runs, which are those of the comparison's arms."""
    facts = {run.run_id: run for arm in report.arms for run in arm.runs}
    found = report_on(store, [run for run in runs if run.id in facts])
    reports = {one.run.id: apart_from(one, report.other_loads.get(one.run.id, ())) for one in found}
    physics = {
        run_id: physics_of(store, one, facts[run_id], prices_of(prices, one.run.machine_id))
        for run_id, one in reports.items()
    }
    return Known(report, reports, physics, outcomes(store, list(reports)), frozenset(declared))


def rankings(known: Known) -> list[Ranking]:
    """Every viewpoint in its order; one that nobody knows anything of says why of each arm."""
    return [_ranking(known, viewpoint) for viewpoint in Viewpoint]


def _ranking(known: Known, viewpoint: Viewpoint) -> Ranking:
    objective = _objective(known, viewpoint)
    view = _view(known, viewpoint, objective)
    candidates = [candidate_of(known, viewpoint, arm, objective) for arm in known.arms]

    refused = refusals_of(known, view, candidates, objective)
    if viewpoint in OF_WINDOWS:
        refused = _of_one_definition(known, refused)
    return rank(viewpoint, view, candidates, refused, known.report.margin)


def refusals_of(known: Known, view: View, candidates: Sequence[Candidate], objective: Objective) -> Refusals:
    """By the ids of two arms the rows of the guard that forbid ranking the second against the first."""
    arms = {arm.id: arm for arm in known.arms}
    values = {one.arm_id: _oriented(one.values, view, objective) for one in candidates}

    def refused(first: str, second: str) -> list[Row]:
        both = (values[first], values[second])
        return refusals(
            guard(pair_of((arms[first], arms[second]), objective, both, known.report.margin, known.declared))
        )

    return refused


def _of_one_definition(known: Known, refused: Refusals) -> Refusals:
    """As these refuse, and a log's windows are not held against those of counters, nor long ones against short ones."""
    arms = {arm.id: arm for arm in known.arms}

    def also_refused(first: str, second: str) -> list[Row]:
        definitions = tuple(
            sorted({_windows_of(known, start) for start in arms[one].starts}) for one in (first, second)
        )
        row = Row(RowCode.DEFINITION, Standing.MATTERS, {"definitions": definitions})
        return [*refused(first, second), *([] if _are_alike([one for side in definitions for one in side]) else [row])]

    return also_refused


def _windows_of(known: Known, start: RunFacts) -> tuple[str, float]:
    """By what a start's windows are counted, and their length in seconds; 0 where each line of a log has its own."""
    summary = known.reports[start.run_id].summary
    return summary.definition or "not known", summary.window_s or 0.0


def _are_alike(windows: Sequence[tuple[str, float]]) -> bool:
    """Counters of two engines are; a log's speed is only what the same log says over as long a time."""
    kinds = {definition if definition.endswith(".log") else "counted" for definition, _ in windows}
    lengths = [length for _, length in windows]
    return len(kinds) <= 1 and max(lengths, default=0.0) <= (1 + SAME_LENGTH) * min(lengths, default=0.0)


def _oriented(values: Sequence[float], view: View, objective: Objective) -> list[float]:
    """The values of starts so that better is the direction of the objective; none of what is not one of each start."""
    if view.evidence is not Evidence.STARTS or min(values, default=0) <= 0:
        return []
    is_alike = view.higher_is_better == objective.terms.higher_is_better
    return [value if is_alike else 1 / value for value in values]


def _objective(known: Known, viewpoint: Viewpoint) -> Objective:
    """What the guard is asked about; of most viewpoints what the loads are compared by."""
    if viewpoint in OF_WHAT_IS_COMPARED:
        return known.report.objective
    if viewpoint is Viewpoint.TTFT:
        found = [one for one in known.report.objectives if one.kind is Kind.TTFT_MS]
        return min(found, key=lambda one: one.concurrency or 0, default=of_the_loads(known.report))
    return Objective(OBJECTIVES[viewpoint]) if viewpoint in OBJECTIVES else of_the_loads(known.report)


def _view(known: Known, viewpoint: Viewpoint, objective: Objective) -> View:
    terms = objective.terms
    if viewpoint is Viewpoint.COMPARED:
        title = objective.title[:1].upper() + objective.title[1:]
        return View(title, terms.unit, terms.higher_is_better, terms.meaning, rows=ALL_ROWS)
    view = VIEWS[viewpoint]
    if viewpoint is Viewpoint.TTFT and objective.kind is Kind.TTFT_MS:
        return replace(view, title=f"{view.title}, {objective.load_words}")
    if viewpoint is Viewpoint.KV_CAPACITY and (context := _context(known)):
        return replace(view, title=f"KV capacity, requests of {context:,} tokens")
    if viewpoint is Viewpoint.QUALITY and (task := _task(known)):
        return replace(view, title=f"Quality, {task[0]}")
    return view


def candidate_of(known: Known, viewpoint: Viewpoint, arm: Arm, objective: Objective) -> Candidate:
    """What one arm shows from a viewpoint, or by an objective where that is what is compared."""
    label = LABELS.get(arm.runs[0].kind)
    if viewpoint is Viewpoint.QUALITY:
        return replace(_quality(known, arm), label=label)
    if viewpoint is Viewpoint.STABILITY:
        return replace(_stability(known, arm, objective), label=label)
    found = [_value(known, viewpoint, start, objective) for start in arm.starts]
    values = tuple(value for value, _ in found if value is not None)
    if viewpoint is Viewpoint.KV_CAPACITY:
        values = values[:1]
    return Candidate(arm.id, values, None if values else next((why for _, why in found if why), None), label)


def _value(known: Known, viewpoint: Viewpoint, start: RunFacts, objective: Objective) -> Value:
    """The value of one server start."""
    if viewpoint in (Viewpoint.COMPARED, Viewpoint.STARTUP, Viewpoint.TTFT):
        return _measured(known, start, objective)
    return OF_START[viewpoint](known, start)


def _measured(known: Known, start: RunFacts, objective: Objective) -> Value:
    """Over the requests that all launched arms share; what shares none has its own, and the guard refuses it."""
    launched = [load for arm in known.arms for load in loads_of(arm) if load.measured and _is_launched(arm)]
    shared = evidence_keys(launched, objective) if start.kind not in LABELS else frozenset()
    one = replicate(start, objective, shared or evidence_keys([x for x in start.loads if x.measured], objective))
    return one.value, one.reason


def _is_launched(arm: Arm) -> bool:
    return arm.runs[0].kind not in LABELS


def _summary(name: str) -> Callable[[Known, RunFacts], Value]:
    def value_of(known: Known, start: RunFacts) -> Value:
        summary = known.reports[start.run_id].summary
        return getattr(summary, name), summary.reason

    return value_of


def _peak(name: str) -> Callable[[Known, RunFacts], Value]:
    def value_of(known: Known, start: RunFacts) -> Value:
        peak = known.reports[start.run_id].summary.single_stream_peak
        return (getattr(peak.decode_tps, name), None) if peak else (None, Reason(Code.NO_WHOLE_WINDOW))

    return value_of


def _acceptance(known: Known, start: RunFacts) -> Value:
    acceptance = known.reports[start.run_id].acceptance
    return acceptance.length, acceptance.reason


def _held(known: Known, start: RunFacts) -> Value:
    found = [one for outcome in known.outcomes.get(start.run_id, {}).values() for one in outcome.results]
    values = [one.value for one in found if one.metric == USERS_HELD and one.value is not None]
    return (values[-1], None) if values else (None, Reason(Code.NO_USERS_HELD))


def _fits(known: Known, start: RunFacts) -> Value:
    context = _context(known)
    fits = {fit.context_tokens: fit.requests.value for fit in known.physics[start.run_id].fits}
    value = fits.get(context) if context else None
    return value, None if value is not None else Reason(Code.NO_KV_CAPACITY)


def _energy(known: Known, start: RunFacts) -> Value:
    value, reason = known.physics[start.run_id].tokens_per_joule
    return (1 / value if value else None), reason


def _cost(known: Known, start: RunFacts) -> Value:
    return known.physics[start.run_id].cost


OF_START: Mapping[Viewpoint, Callable[[Known, RunFacts], Value]] = {
    Viewpoint.PEAK_P99: _peak("p99"),
    Viewpoint.PEAK_MAXIMUM: _peak("maximum"),
    Viewpoint.TYPICAL: _summary("typical_tps"),
    Viewpoint.FLOOR: _summary("floor_tps"),
    Viewpoint.ACCEPTANCE: _acceptance,
    Viewpoint.LOAD_HELD: _held,
    Viewpoint.KV_CAPACITY: _fits,
    Viewpoint.ENERGY: _energy,
    Viewpoint.COST: _cost,
}


def _context(known: Known) -> int | None:
    """The longest request of which all arms that know anything know how many fit."""
    lengths = [
        {fit.context_tokens for fit in known.physics[arm.id].fits if fit.requests.value is not None}
        for arm in known.arms
    ]
    shared = set.intersection(*some) if (some := [one for one in lengths if one]) else set()
    return max(shared, default=None)


def _stability(known: Known, arm: Arm, objective: Objective) -> Candidate:
    """The standard deviation of the logs of its starts, in per cent."""
    found = [_measured(known, start, objective) for start in arm.starts]
    logs = [math.log(value) for value, _ in found if value is not None]
    if len(logs) < FEWEST_STARTS:
        few = Reason(Code.TOO_FEW_STARTS, values={"starts": len(logs), "fewest": FEWEST_STARTS})
        return Candidate(arm.id, reason=next((why for _, why in found if why), few))
    return Candidate(arm.id, (100 * stdev(logs),), starts=len(logs))


Task = tuple[str, str, str, str | None]


def _task(known: Known) -> Task | None:
    """The first task that every arm with an accuracy has, under one protocol."""
    tasks = [list(map(_task_of, found)) for arm in known.arms if (found := _accuracies(known, arm))]
    return next((one for one in tasks[0] if all(one in other for other in tasks)), None) if tasks else None


def _task_of(one: Accuracy) -> Task:
    return one.task, one.filter, one.metric, one.protocol_hash


def _accuracies(known: Known, arm: Arm) -> list[Accuracy]:
    outcomes = [one for run in arm.runs for one in known.outcomes.get(run.run_id, {}).values()]
    return [one for outcome in outcomes for one in outcome.accuracy if one.value is not None]


def _quality(known: Known, arm: Arm) -> Candidate:
    task = _task(known)
    one = next((one for one in _accuracies(known, arm) if _task_of(one) == task), None)
    if one is None or one.value is None:
        return Candidate(arm.id, reason=Reason(Code.NO_ACCURACY))
    share = Interval(one.low, one.high) if one.low is not None and one.high is not None else None
    return Candidate(arm.id, (100 * one.value,), share=share)
