"""Comparison of runs: arms, objective, answers, and the repeats that may be added."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.compare_arms import ArmComparison, available_objectives, compare_arms, propose_objective
from analysis.comparison.arms import Arm, DeclaredRepeat, arm_key, arms_of, is_repeat
from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import make_replicate
from analysis.comparison.workload import (
    WorkloadKey,
    find_workload,
    has_workload,
    restrict_to_workload,
    shared_workloads,
)
from analysis.evidence.loads import common_keys
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.guard import ArmPair, RowCode, guard, refusals
from analysis.guard.rows import GuardRow, loads_of
from analysis.guard.starved_starts import StarvedStart, starved_starts
from analysis.runs.conditions import Span
from analysis.verdict import MARGIN, EarlierSpread, pool_earlier_spread
from domain import Run
from reports.arms.facts import LogSpeeds, LogSpeedsOf, facts_of, stored_log_speeds
from reports.arms.other_loads import other_loads
from storage.queries import run_queries
from storage.queries.run_data import Queryable

MOST_OFFERED = 12  # newest likely repeats that are checked
MOST_EARLIER = 24  # runs read for the spread between starts
FEWEST_FOR_SPREAD = 2


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """Options of a comparison besides the runs, as its URL holds them."""

    objective: Objective | None = None  # None: the one that the workload proposes
    declared: frozenset[RowCode] = frozenset()
    apart: frozenset[str] = frozenset()  # ids of runs that are arms of their own
    left_out: Mapping[str, str] = field(default_factory=dict)  # run id -> reason for leaving it out
    joined: Mapping[str, DeclaredRepeat] = field(default_factory=dict)  # by run id
    margin: float = MARGIN
    workload: str | None = None  # its id or name; None: the one that most of the runs share


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """Everything that Compare and `./pitwall compare` show."""

    arms: tuple[Arm, ...]
    objective: Objective
    objectives: tuple[Objective, ...]  # available for this comparison
    answers: tuple[ArmComparison, ...]  # each further arm against the first
    earlier: tuple[RunFacts, ...] = ()  # earlier repeats whose spread was used
    workload: WorkloadKey | None = None  # the one compared; None: the runs share none
    workloads: tuple[WorkloadKey, ...] = ()  # shared by the runs
    margin: float = MARGIN
    without_workload: Mapping[str, str] = field(default_factory=dict)  # run id -> name: left out, they lack it
    starved: tuple[StarvedStart, ...] = ()  # starts left out by rule: their threads waited for a CPU
    other_loads: Mapping[str, tuple[Span, ...]] = field(
        default_factory=dict
    )  # run id -> its loads that are not compared
    joined: Mapping[str, DeclaredRepeat] = field(default_factory=dict)  # by run id, as its owner declared
    declared: frozenset[RowCode] = frozenset()  # guard rows that are compared on purpose


def comparison_of(
    store: Queryable,
    runs: Sequence[Run],
    options: ComparisonOptions | None = None,
    log_speeds_of: LogSpeedsOf = stored_log_speeds,
) -> ComparisonReport:
    """Compare these runs; a single arm has no answers, only its repeats.

    Raises WorkloadNotSharedError if the runs do not share the requested workload.
    """
    choices = options or ComparisonOptions()
    facts = facts_of(store, runs, log_speeds_of=log_speeds_of)
    workloads = shared_workloads(facts)
    workload = find_workload(workloads, choices.workload)
    selected = _with_workload(facts, workload, choices)
    selected_ids = {run_facts.run_id for run_facts in selected}
    compared_facts = [restrict_to_workload(run_facts, workload) for run_facts in selected]
    arms = arms_of(compared_facts, choices.apart, choices.left_out, choices.joined)
    objective = choices.objective or propose_objective(arms)
    starved = starved_starts(arms, choices.margin) if objective.kind is not ObjectiveKind.STARTUP_S else []
    if starved:
        starved_ids = frozenset[str]().union(*(start.run_ids for start in starved))
        arms = arms_of(
            [run for run in compared_facts if run.run_id not in starved_ids],
            choices.apart,
            choices.left_out,
            choices.joined,
        )
    earlier, lent = _earlier(store, runs, arms, objective, workload, log_speeds_of)
    answers = (
        compare_arms(arms, objective, declared=choices.declared, margin=choices.margin, earlier=earlier)
        if len(arms) > 1
        else []
    )
    return ComparisonReport(
        tuple(arms),
        objective,
        tuple(available_objectives(arms)),
        tuple(answers),
        lent,
        workload,
        tuple(workloads),
        choices.margin,
        {run_facts.run_id: run_facts.name for run_facts in facts if run_facts.run_id not in selected_ids},
        tuple(starved),
        {
            run_facts.run_id: other_loads(run_facts, restricted_facts)
            for run_facts, restricted_facts in zip(selected, compared_facts, strict=True)
        },
        choices.joined,
        choices.declared,
    )


def _with_workload(
    facts: Sequence[RunFacts], workload: WorkloadKey | None, choices: ComparisonOptions
) -> Sequence[RunFacts]:
    """Return the runs that have the compared workload; all runs if those with it are fewer than two arms.

    A start-up time is one whatever the load.
    """
    if workload is None or (choices.objective and choices.objective.kind is ObjectiveKind.STARTUP_S):
        return facts
    selected = [run_facts for run_facts in facts if has_workload(run_facts, workload)]
    restricted = [restrict_to_workload(run_facts, workload) for run_facts in selected]
    return selected if len(arms_of(restricted, choices.apart, choices.left_out, choices.joined)) > 1 else facts


def answers_by(report: ComparisonReport, objective: Objective) -> Sequence[ArmComparison]:
    """Return the answers by this objective, under the report's declarations and margin; none with a single arm."""
    if objective == report.objective:
        return report.answers
    if len(report.arms) < 2:
        return ()
    return compare_arms(report.arms, objective, declared=report.declared, margin=report.margin)


def rankable_arms(report: ComparisonReport, objective: Objective | None) -> Mapping[str, tuple[float, float] | None]:
    """Return the ids of the arms that the guard allows to compare with the first by this objective, with intervals.

    An interval is the 95 % interval of the arm's ratio to the first; None if it has none. objective: None for a number
    that has none; it then follows the objective of the loads, whose intervals are not its own.
    """
    return {
        answer.pair.contender.id: answer.judgement.interval if objective and answer.judgement else None
        for answer in answers_by(report, objective or load_objective(report))
        if answer.is_ranked
    }


def load_objective(report: ComparisonReport) -> Objective:
    """Return the comparison's objective; if that is the start-up time, the one that the loads propose."""
    is_of_loads = report.objective.kind is not ObjectiveKind.STARTUP_S
    return report.objective if is_of_loads else propose_objective(report.arms)


def rung_answers(report: ComparisonReport) -> list[Sequence[ArmComparison]]:
    """Return the answers at every shared concurrency, if the comparison is by output speed at one of them."""
    if report.objective.kind is not ObjectiveKind.OUTPUT_TPS or len(report.arms) < 2:
        return []
    rungs = sorted(objective for objective in report.objectives if objective.kind is ObjectiveKind.OUTPUT_TPS)
    return [answers_by(report, objective) for objective in rungs]


def offered_repeats(store: Queryable, runs: Sequence[Run], report: ComparisonReport) -> list[str]:
    """Return the ids of stored runs that repeat one of the arms and were not selected."""
    likely = run_queries.likely_repeats(store, runs, MOST_OFFERED)
    repeat_facts = facts_of(
        store, likely, with_pieces=False, log_speeds_of=_no_log_speeds
    )  # which runs without a load of ours have
    candidates = [
        restrict_to_workload(run_facts, report.workload)
        for run_facts in repeat_facts
        if any(load.measured for load in run_facts.loads)
    ]
    return [
        candidate.run_id
        for candidate in candidates
        if any(all(is_repeat(candidate, run) for run in arm.runs) for arm in report.arms)
    ]


def _no_log_speeds(store: Queryable, runs: Sequence[Run]) -> LogSpeeds:
    return {}


def _earlier(
    store: Queryable,
    runs: Sequence[Run],
    arms: Sequence[Arm],
    objective: Objective,
    workload: WorkloadKey | None,
    log_speeds_of: LogSpeedsOf,
) -> tuple[EarlierSpread | None, tuple[RunFacts, ...]]:
    """Return the spread between starts of earlier repeats, and these runs; read only if an arm has a single start."""
    if len(arms) < 2 or all(len(arm.starts) >= FEWEST_FOR_SPREAD for arm in arms):
        return None, ()
    setting = run_queries.same_setting(store, runs, MOST_EARLIER)
    with_pieces = objective.kind is ObjectiveKind.OUTPUT_TPS
    earlier_facts = facts_of(store, setting, with_pieces, log_speeds_of)
    same_workload = [
        restrict_to_workload(run_facts, workload)
        for run_facts in earlier_facts
        if workload is None or has_workload(run_facts, workload)
    ]
    replicated_arms = [arm for arm in arms_of(same_workload) if len(arm.starts) >= FEWEST_FOR_SPREAD]
    groups = [values for arm in replicated_arms if len(values := _values(arm, objective)) >= FEWEST_FOR_SPREAD]
    earlier = pool_earlier_spread(groups)
    is_enough = earlier is not None and earlier.serves
    return (earlier, tuple(run for arm in replicated_arms for run in arm.runs)) if is_enough else (None, ())


def _values(arm: Arm, objective: Objective) -> list[float]:
    keys = evidence_keys(loads_of(arm), objective)
    values = [make_replicate(start, objective, keys).value for start in arm.starts]
    return [value for value in values if value is not None]


LIVE_ROWS = (
    *(RowCode.MODEL, RowCode.FORCED_ACCEPTANCE, RowCode.HARDWARE),
    *(RowCode.WORKLOAD, RowCode.PROMPTS, RowCode.NEIGHBOURS),
)


def incomparable_runs(
    store: Queryable, runs: Sequence[Run], log_speeds_of: LogSpeedsOf = stored_log_speeds
) -> dict[str, GuardRow]:
    """Return run id -> the reason why its speed cannot be compared with the first run's; comparable runs are absent.

    For two ended runs every guard row counts; while one is live, only those that no further measurement can change.
    """
    if len(runs) < 2:
        return {}
    facts = facts_of(store, runs, log_speeds_of=log_speeds_of)
    workload = find_workload(shared_workloads(facts), None)
    first, *other_arms = (single_run_arm(restrict_to_workload(run_facts, workload)) for run_facts in facts)
    live_ids = {run.id for run in runs if not run.state.is_final}
    codes_by_run = {arm.id: LIVE_ROWS if {first.id, arm.id} & live_ids else tuple(RowCode) for arm in other_arms}
    rows_by_run = {arm.id: refusals(_rows(first, arm, codes_by_run[arm.id])) for arm in other_arms}
    return {run_id: rows[0] for run_id, rows in rows_by_run.items() if rows}


def _rows(first: Arm, second: Arm, codes: Collection[RowCode]) -> list[GuardRow]:
    """Return the guard's rows with these codes."""
    pair = ArmPair(
        first, second, propose_objective([first, second]), common_keys([*loads_of(first), *loads_of(second)])
    )
    return [row for row in guard(pair) if row.code in codes]


def single_run_arm(facts: RunFacts) -> Arm:
    """Return a run as an arm of its own."""
    return Arm(arm_key(facts), (facts,))


def arm_names_by_run(arms: Collection[Arm], runs: Sequence[Run]) -> dict[str, str]:
    """Return run id -> name of its arm; a run that is in none keeps its own name."""
    names = {run_id: arm.name for arm in arms for run_id in (*(run.run_id for run in arm.runs), *arm.left_out)}
    return {run.id: names.get(run.id, run.name) for run in runs}


def run_names(arms: Collection[Arm]) -> dict[str, str]:
    """Return run id -> name, for use in sentences."""
    return {run.run_id: run.name for arm in arms for run in arm.runs}
