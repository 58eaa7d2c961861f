"""Status of a study: the runs of each arm, their values by the objective, and the state of the race."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean

from analysis.compare_arms import pair_of, propose_objective
from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import make_replicate
from analysis.comparison.workload import restrict_to_name
from analysis.evidence.loads import LoadRecord
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.guard import CHECKS, GuardRow, guard, refusals
from analysis.guard.rows import RowCode, loads_of
from analysis.loads.agent_tasks import SolvedCount, solved_count
from analysis.loads.knee import FINENESS
from analysis.study import ArmState, Race, RaceEnd, Seat, StartsLeft, explore, race, single_arm_race, starts_left
from analysis.study.explore import FINALISTS
from analysis.study.proposal import Trial
from analysis.study.race import MIN_STARTS
from analysis.study.share_race import pool, share_race
from commands.study_file import ACCURACY, SOLVED, USERS_HELD, StudyPlan
from domain import Run, RunState
from reports.arms.facts import facts_of
from reports.studies.parts import WorkloadPlan, workload_plans
from reports.studies.requirements import requirement_causes, unmeasured_arms
from reports.studies.study_values import ArmPrediction, MeasuredArms, predict_values
from storage.queries.load_queries import outcomes, read_loads
from storage.queries.run_data import Queryable

STEP_SD = FINENESS / math.sqrt(12)  # of users held, which are known to within one step of the search
# What two arms must share for their solved tasks to be compared: commands, folder and agent version, and free answers.
TASK_ROWS = (RowCode.WORKLOAD, RowCode.PROMPTS, RowCode.SAMPLING, RowCode.FORCED_ACCEPTANCE)
MOST_FAILURES = 2  # of one arm before it is excluded


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """Status of a study under one workload, by its ended runs."""

    race: Race
    values: Mapping[str, tuple[float, ...]]  # arm -> value of each start, in the objective's unit
    objective: str  # '': none was requested, and no start has ended that would propose one
    runs: Mapping[str, tuple[Run, ...]]  # arm -> all its runs
    causes: Mapping[str, str] = field(default_factory=dict)  # arm -> reason why it is excluded
    refused: Mapping[tuple[str, str], tuple[GuardRow, ...]] = field(default_factory=dict)  # pairs that cannot be ranked
    remaining: StartsLeft | None = None  # server starts that it will probably still take
    predicted: Mapping[str, ArmPrediction] = field(default_factory=dict)  # arm -> prediction from other arms' runs
    trials: tuple[Trial, ...] | None = None  # trials so far, if the next combination must be proposed
    solved: Mapping[str, SolvedCount] = field(default_factory=dict)  # arm -> repeats of its agent task, if it has any
    unmeasured: tuple[str, ...] = ()  # arms whose answers could not be held against what the plan requires

    @property
    def starts(self) -> int:
        return sum(map(len, self.runs.values()))


def starts_by_arm(statuses: Sequence[StudyStatus]) -> dict[str, int]:
    """Return the number of server starts of each arm; a start shared by several workloads counts once."""
    return {name: len({run.id for status in statuses for run in status.runs[name]}) for name in statuses[0].runs}


def next_arms(statuses: Sequence[StudyStatus]) -> tuple[str, ...]:
    """Return the arms that start in the next round: those still needed under any undecided workload."""
    next_by_status = [status.race.next_arms for status in statuses if status.race.end is None]
    return tuple(name for name in statuses[0].runs if any(name in arms for arms in next_by_status))


def study_statuses(store: Queryable, plan: StudyPlan, runs: Sequence[Run]) -> list[StudyStatus]:
    """Return the status of a study under each of its workloads; a server start counts for each workload it ran."""
    plans, ended = plan.per_workload(), [run for run in runs if run.state.is_final]
    if len(plans) == 1:
        finished = [run for run in ended if run.state is RunState.FINISHED]
        return [_workload_status(store, WorkloadPlan(plan), runs, _by_id(facts_of(store, finished)))]
    facts = facts_of(store, ended)
    return [
        _workload_status(store, workload_plan, _runs_for(runs, workload_plan), _facts_under(workload_plan, facts))
        for workload_plan in workload_plans(plans)
    ]


def _remaining_rounds(current_race: Race, plan: StudyPlan) -> StartsLeft:
    count = 0 if current_race.end else plan.budget.rounds - current_race.seats[0].starts
    return StartsLeft(count, count)


def _race_proposed(
    plan: StudyPlan,
    logs: Mapping[str, Sequence[float]],
    by_arm: Mapping[str, Sequence[Run]],
    causes: Mapping[str, str],
    refused: Sequence[tuple[str, str]],
) -> tuple[Race, tuple[Trial, ...] | None]:
    """Race with one start per combination, then of the best; also the trials, if a combination must be proposed."""
    first_logs = {
        name: next(iter(logs[name]), None)
        for name, arm_runs in by_arm.items()
        if any(run.state.is_final for run in arm_runs)
    }
    explored = explore(list(by_arm), first_logs, plan.trials)
    if not explored.racers:
        states = {name: ArmState.FAILED if name in causes else ArmState.TRIED for name in first_logs}
        seats = tuple(Seat(name, len(logs[name]), states.get(name, ArmState.RACING)) for name in by_arm)
        trials = (
            tuple(Trial(arm.choice, first_logs.get(arm.name)) for arm in plan.arms) if explored.wants_more else None
        )
        is_over = not explored.probe and not explored.wants_more
        return Race(seats, (explored.probe,) if explored.probe else (), end=RaceEnd.FAILED if is_over else None), trials
    values = {name: arm_logs[1:] if name in explored.racers else arm_logs for name, arm_logs in logs.items()}
    tried_names = [name for name in by_arm if name not in explored.racers]
    return race(values, plan.margin, tuple(causes), refused, tried_names=tried_names), None


def _single_start_causes(by_arm: Mapping[str, Sequence[Run]], values: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Return arm -> reason of its failure; one failed start is enough."""
    failed = {
        name: arm_runs[0]
        for name, arm_runs in by_arm.items()
        if arm_runs and arm_runs[0].state.is_final and not values.get(name)
    }
    return {name: run.cause or "its load gave no value of the objective" for name, run in failed.items()}


def _remaining_trials(plan: StudyPlan, current_race: Race, by_arm: Mapping[str, Sequence[Run]]) -> StartsLeft:
    """Return the remaining trials plus the fewest rounds of the race, at most the remaining budget."""
    started = sum(map(len, by_arm.values()))
    spare = max(0, plan.budget.runs - started)
    if current_race.end:
        return StartsLeft(0, 0)
    untried = max(0, plan.trials - sum(bool(arm_runs) for arm_runs in by_arm.values()))
    return StartsLeft(min(spare, untried + MIN_STARTS * (FINALISTS if untried else 1)), spare)


def _by_id(facts: Sequence[RunFacts]) -> dict[str, RunFacts]:
    return {run_facts.run_id: run_facts for run_facts in facts}


def _runs_for(runs: Sequence[Run], workload_plan: WorkloadPlan) -> list[Run]:
    return [run for run in runs if any(map(workload_plan.is_requested_by, run.workloads))]


def _facts_under(workload_plan: WorkloadPlan, facts: Sequence[RunFacts]) -> dict[str, RunFacts]:
    """Return each run with its loads of this workload; a failed run counts if these ended before it failed."""
    restricted = [restrict_to_name(run_facts, workload_plan.plan.workload, workload_plan.params) for run_facts in facts]
    return _by_id(
        [
            run_facts
            for run_facts in restricted
            if run_facts.state == RunState.FINISHED or _is_fully_sent(run_facts.loads)
        ]
    )


def _is_fully_sent(loads: Sequence[LoadRecord]) -> bool:
    """Whether all planned requests are known to have been sent."""
    return bool(loads) and all(load.unsent == 0 and load.is_complete for load in loads)


def _workload_status(
    store: Queryable, workload_plan: WorkloadPlan, runs: Sequence[Run], facts_by_run: Mapping[str, RunFacts]
) -> StudyStatus:
    """Return the status under one workload, by the runs that have ended."""
    plan = workload_plan.plan
    by_arm = {arm.name: tuple(run for run in runs if run.arm == arm.name) for arm in plan.arms}
    facts_by_arm = {
        name: [facts_by_run[run.id] for run in arm_runs if run.id in facts_by_run] for name, arm_runs in by_arm.items()
    }
    # A start that failed because of Pitwall says nothing about its arm: it is as if it had not been made.
    attempts = {name: [run for run in arm_runs if not run.is_failed_by_pitwall] for name, arm_runs in by_arm.items()}
    arms = {name: Arm(name, tuple(arm_facts)) for name, arm_facts in facts_by_arm.items() if arm_facts}
    if plan.objective == SOLVED:
        return _solved_status(store, plan, by_arm, arms, attempts)
    objective, values = _values(store, workload_plan, arms)
    counts = {name: len(arm_facts) for name, arm_facts in facts_by_arm.items()}
    causes = {
        name: cause
        for name, arm_runs in attempts.items()
        if (
            cause := _cause([run for run in arm_runs if run.id not in facts_by_run], counts[name], values.get(name, ()))
        )
    }
    causes |= requirement_causes(plan, arms)
    refused = _refused(arms, objective, values, plan) if isinstance(objective, Objective) else {}
    is_higher_better = not isinstance(objective, Objective) or objective.terms.higher_is_better
    if plan.question == "measure":
        current_race = single_arm_race(
            {name: values.get(name, ()) for name in by_arm}, plan.budget.rounds, tuple(causes)
        )
        objective_name = objective.name if isinstance(objective, Objective) else objective
        return StudyStatus(
            current_race, values, objective_name, by_arm, causes, remaining=_remaining_rounds(current_race, plan)
        )
    logs = {
        name: [math.log(value) if is_higher_better else -math.log(value) for value in values.get(name, ())]
        for name in by_arm
    }
    if plan.is_proposed:
        causes = _single_start_causes(attempts, values) | causes
        current_race, trials = _race_proposed(plan, logs, attempts, causes, tuple(refused))
        objective_name = objective.name if isinstance(objective, Objective) else objective
        return StudyStatus(
            current_race,
            values,
            objective_name,
            by_arm,
            causes,
            refused,
            _remaining_trials(plan, current_race, by_arm),
            {},
            trials,
        )
    least_sd = STEP_SD if objective == USERS_HELD else 0.0
    step = predict_values(store, plan, MeasuredArms(arms, by_arm, objective, logs, tuple(causes)))
    current_race = race(logs, plan.margin, tuple(causes), tuple(refused), least_sd, step.excluded)
    if step.probe:
        current_race = replace(current_race, next_arms=(step.probe,), end=None)
    objective_name = objective.name if isinstance(objective, Objective) else objective
    status = StudyStatus(
        current_race,
        values,
        objective_name,
        by_arm,
        causes,
        refused,
        predicted=step.predicted,
        unmeasured=tuple(unmeasured_arms(plan, arms)),
    )
    rounds = plan.budget.rounds - max((seat.starts for seat in current_race.seats), default=0)
    remaining = starts_left(current_race, logs, plan.margin, max(1, rounds), max(0, plan.budget.runs - status.starts))
    return replace(status, remaining=remaining)


def _solved_status(
    store: Queryable,
    plan: StudyPlan,
    by_arm: Mapping[str, tuple[Run, ...]],
    arms: Mapping[str, Arm],
    attempts: Mapping[str, Sequence[Run]],
) -> StudyStatus:
    """Return the status of a study that counts solved tasks."""
    counts = {name: solved_by_start(store, arms[name]) if name in arms else [] for name in by_arm}
    values = {name: tuple(count.solved / count.n for count in starts) for name, starts in counts.items()}
    causes = {
        name: cause
        for name, arm_runs in attempts.items()
        if (cause := _solved_cause(arm_runs, arms.get(name), counts[name]))
    }
    causes |= requirement_causes(plan, arms)
    if plan.question == "measure":
        current_race = single_arm_race(values, plan.budget.rounds, tuple(causes))
        remaining: StartsLeft | None = _remaining_rounds(current_race, plan)
        refused: Mapping[tuple[str, str], tuple[GuardRow, ...]] = {}
    else:
        looks = min(plan.budget.rounds, max(1, plan.budget.runs // len(plan.arms)))
        refused = _refused_tasks(arms, plan)
        current_race = share_race(counts, looks, tuple(causes), tuple(refused))
        remaining = _remaining_looks(current_race, plan, looks, sum(map(len, by_arm.values())))
    solved = {name: pool(starts) for name, starts in counts.items() if starts}
    unmeasured = tuple(unmeasured_arms(plan, arms))
    return StudyStatus(
        current_race, values, SOLVED, by_arm, causes, refused, remaining, solved=solved, unmeasured=unmeasured
    )


def solved_by_start(store: Queryable, arm: Arm) -> list[SolvedCount]:
    """Return the solved repeats of each start whose load judged one."""
    load_ids = {load.load_id for run in arm.runs for load in run.loads}
    by_run = outcomes(store, [run.run_id for run in arm.runs])
    counts = [
        solved_count(
            [check for load_id, row in by_run[run.run_id].items() if load_id in load_ids for check in row.checks]
        )
        for run in arm.runs
    ]
    return [count for count in counts if count.n]


def _solved_cause(runs: Sequence[Run], arm: Arm | None, counts: Sequence[SolvedCount]) -> str | None:
    """Return why an arm is excluded: its servers fail, or its agents could not be judged."""
    with_facts = {run.run_id for run in arm.runs} if arm else set[str]()
    failed = [run for run in runs if run.id not in with_facts and run.state is RunState.FAILED]
    if len(failed) >= MOST_FAILURES:
        return failed[-1].cause or "its server failed"
    return "its agent or its check could not be run" if len(with_facts) - len(counts) >= MOST_FAILURES else None


def _refused_tasks(arms: Mapping[str, Arm], plan: StudyPlan) -> dict[tuple[str, str], tuple[GuardRow, ...]]:
    """Return the pairs whose solved tasks may not be compared: other tasks, or answers that are no model's choice."""
    refused_pairs: dict[tuple[str, str], tuple[GuardRow, ...]] = {}
    for (first_name, first), (second_name, second) in combinations(arms.items(), 2):
        pair = pair_of((first, second), Objective(ObjectiveKind.STARTUP_S), margin=plan.margin)
        rows = [CHECKS[code](pair) for code in TASK_ROWS]
        if refused_rows := refusals(rows):
            refused_pairs[first_name, second_name] = tuple(refused_rows)
    return refused_pairs


def _remaining_looks(current_race: Race, plan: StudyPlan, looks: int, starts: int) -> StartsLeft:
    if current_race.end:
        return StartsLeft(0, 0)
    count = len(current_race.next_arms)
    rounds_left = max(1, looks - max((seat.starts for seat in current_race.seats), default=0))
    return StartsLeft(count, max(count, min(plan.budget.runs - starts, count * rounds_left)))


def _values(
    store: Queryable, workload_plan: WorkloadPlan, arms: Mapping[str, Arm]
) -> tuple[Objective | str, dict[str, tuple[float, ...]]]:
    plan = workload_plan.plan
    if plan.objective == ACCURACY:
        return ACCURACY, {name: tuple(_shares_right(store, workload_plan, arm)) for name, arm in arms.items()}
    if plan.objective == USERS_HELD:
        return USERS_HELD, {name: tuple(_users_held(store, arm)) for name, arm in arms.items()}
    if not arms:
        return plan.objective or "", {}
    objective = plan.priced_objective or propose_objective(list(arms.values()))
    keys = evidence_keys([load for arm in arms.values() for load in loads_of(arm)], objective)
    values_by_arm = {
        name: [make_replicate(start, objective, keys).value for start in arm.starts] for name, arm in arms.items()
    }
    return objective, {
        name: tuple(v for v in arm_values if v is not None) for name, arm_values in values_by_arm.items()
    }


def _users_held(store: Queryable, arm: Arm) -> list[float]:
    """Return the users that each start holds; 0 becomes half a user, for the logarithm."""
    by_run = outcomes(store, [run.run_id for run in arm.runs])
    results = [result for loads in by_run.values() for outcome in loads.values() for result in outcome.results]
    return [result.value if result.value else 0.5 for result in results if result.metric == USERS_HELD]


def _shares_right(store: Queryable, workload_plan: WorkloadPlan, arm: Arm) -> list[float]:
    """Return the accuracy of each start: the mean over the tasks of the plan's tool, of each its lowest filter."""
    ids = [run.run_id for run in arm.runs]
    loads_by_run, by_run = read_loads(store, ids), outcomes(store, ids)
    values = []
    for run_id in ids:
        load_ids = {load.load_id for load in loads_by_run[run_id] if workload_plan.matches_load(load)}
        rows = [row for load_id in load_ids & by_run[run_id].keys() for row in by_run[run_id][load_id].accuracy]
        tasks: dict[str, float] = {}
        for row in rows:
            if row.value is not None:
                tasks[row.task] = min(row.value, tasks.get(row.task, 1.0))
        values += [fmean(tasks.values())] if tasks else []
    return values


def _cause(without_facts: Sequence[Run], with_facts: int, values: Sequence[float]) -> str | None:
    """Return the reason why an arm is excluded: its servers fail, or its loads give no value. None: it is not."""
    failed = [run for run in without_facts if run.state is RunState.FAILED]
    if len(failed) >= MOST_FAILURES:
        return failed[-1].cause or "its server failed"
    return "its load gave no value of the objective" if with_facts - len(values) >= MOST_FAILURES else None


def _refused(
    arms: Mapping[str, Arm], objective: Objective, values: Mapping[str, Sequence[float]], plan: StudyPlan
) -> dict[tuple[str, str], tuple[GuardRow, ...]]:
    """Return the pairs of arms that the guard forbids to rank, with its rows."""
    refused_pairs: dict[tuple[str, str], tuple[GuardRow, ...]] = {}
    hosts = {arm.name: arm.host for arm in plan.arms}
    for (first_name, first), (second_name, second) in combinations(arms.items(), 2):
        values_of_pair = values.get(first_name, ()), values.get(second_name, ())
        # A plan that gives two arms different hosts compares hardware on purpose.
        declared = {RowCode.HARDWARE} if hosts[first_name] != hosts[second_name] else frozenset[RowCode]()
        if rows := refusals(guard(pair_of((first, second), objective, values_of_pair, plan.margin, declared))):
            refused_pairs[first_name, second_name] = tuple(rows)
    return refused_pairs
