"""How a study stands: the runs of each arm, their values by the objective, and what the race makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean

from analysis.comparison.arms import Arm
from analysis.comparison.compare import pair_of, propose
from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import replicate
from analysis.comparison.workload import under_name
from analysis.evidence.loads import LoadRecord
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Objective, parse_objective
from analysis.guard import Row, guard, refusals
from analysis.guard.rows import RowCode, loads_of
from analysis.loads.knee import FINENESS
from analysis.study import ArmState, End, Left, Race, Seat, explore, measured, race, starts_left
from analysis.study.explore import FINALISTS
from analysis.study.proposal import Trial
from analysis.study.race import FEWEST
from commands.study_file import ACCURACY, USERS_HELD, StudyPlan
from domain import Run, RunState
from reports.arms.facts import facts_of
from reports.studies.parts import Part, parts_of
from reports.studies.study_values import Measured, Predicted, predict_values
from storage.ask.load_queries import asked_loads, outcomes
from storage.ask.queries import Asked

STEP_SD = FINENESS / math.sqrt(12)  # of users held, which are known to within a step of the search
MOST_FAILURES = 2  # of one arm; then it is out


@dataclass(frozen=True, slots=True)
class StudyStanding:
    """A study after what has ended of its runs."""

    race: Race
    values: Mapping[str, tuple[float, ...]]  # arm -> of each start, in the objective's unit
    objective: str  # '': none is asked for, and no start has ended that would propose one
    runs: Mapping[str, tuple[Run, ...]]  # arm -> all its runs
    causes: Mapping[str, str] = field(default_factory=dict)  # arm -> why it is out for good
    refused: Mapping[tuple[str, str], tuple[Row, ...]] = field(default_factory=dict)  # pairs that may not be ranked
    left: Left | None = None  # server starts that it probably takes yet
    predicted: Mapping[str, Predicted] = field(default_factory=dict)  # arm -> what the other arms' runs say of it
    trials: tuple[Trial, ...] | None = None  # what was tried, where the next combination has to be proposed

    @property
    def starts(self) -> int:
        return sum(map(len, self.runs.values()))


def starts_by_arm(standings: Sequence[StudyStanding]) -> dict[str, int]:
    """Server starts of each arm; one that several workloads share counts once."""
    return {name: len({run.id for one in standings for run in one.runs[name]}) for name in standings[0].runs}


def next_arms(standings: Sequence[StudyStanding]) -> tuple[str, ...]:
    """The arms that start in the next round: those that are in under any workload that is not decided."""
    going = [one.race.next_arms for one in standings if one.race.end is None]
    return tuple(name for name in standings[0].runs if any(name in arms for arms in going))


def standings_of(store: Asked, plan: StudyPlan, runs: Sequence[Run]) -> list[StudyStanding]:
    """How a study stands under each of its workloads; a server start counts for each that it was put under."""
    parts, ended = plan.under_each(), [run for run in runs if run.state.is_final]
    if len(parts) == 1:
        finished = [run for run in ended if run.state is RunState.FINISHED]
        return [_standing(store, Part(plan), runs, _by_id(facts_of(store, finished)))]
    facts = facts_of(store, ended)
    return [_standing(store, one, _carrying(runs, one), _facts_under(one, facts)) for one in parts_of(parts)]


def _starts_to_go(race_now: Race, plan: StudyPlan) -> Left:
    count = 0 if race_now.end else plan.budget.rounds - race_now.seats[0].starts
    return Left(count, count)


def _proposed(
    plan: StudyPlan,
    logs: Mapping[str, Sequence[float]],
    by_arm: Mapping[str, Sequence[Run]],
    causes: Mapping[str, str],
    refused: Sequence[tuple[str, str]],
) -> tuple[Race, tuple[Trial, ...] | None]:
    """One start of each combination, then a race of the best; with what was tried where one is to be proposed."""
    went = {
        name: next(iter(logs[name]), None) for name, its in by_arm.items() if any(run.state.is_final for run in its)
    }
    explored = explore(list(by_arm), went, plan.trials)
    if not explored.racers:
        states = {name: ArmState.FAILED if name in causes else ArmState.TRIED for name in went}
        seats = tuple(Seat(name, len(logs[name]), states.get(name, ArmState.RACING)) for name in by_arm)
        trials = tuple(Trial(arm.choice, went.get(arm.name)) for arm in plan.arms) if explored.wants_more else None
        nobody = not explored.probe and not explored.wants_more
        return Race(seats, (explored.probe,) if explored.probe else (), end=End.FAILED if nobody else None), trials
    values = {name: its[1:] if name in explored.racers else its for name, its in logs.items()}
    left = [name for name in by_arm if name not in explored.racers]
    return race(values, plan.margin, tuple(causes), refused, tried=left), None


def _of_one_start(by_arm: Mapping[str, Sequence[Run]], values: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Why combinations failed; one failed start is enough."""
    failed = {name: its[0] for name, its in by_arm.items() if its and its[0].state.is_final and not values.get(name)}
    return {name: run.cause or "its load gave no value of the objective" for name, run in failed.items()}


def _trials_to_go(plan: StudyPlan, race_now: Race, by_arm: Mapping[str, Sequence[Run]]) -> Left:
    """What is left of the trials, and two rounds of the race; at most what is left of the budget."""
    started = sum(map(len, by_arm.values()))
    spare = max(0, plan.budget.runs - started)
    if race_now.end:
        return Left(0, 0)
    trying = max(0, plan.trials - sum(bool(its) for its in by_arm.values()))
    return Left(min(spare, trying + FEWEST * (FINALISTS if trying else 1)), spare)


def _by_id(facts: Sequence[RunFacts]) -> dict[str, RunFacts]:
    return {one.run_id: one for one in facts}


def _carrying(runs: Sequence[Run], part: Part) -> list[Run]:
    return [run for run in runs if any(map(part.is_asked_by, run.workloads))]


def _facts_under(part: Part, facts: Sequence[RunFacts]) -> dict[str, RunFacts]:
    """Each run with its loads of this workload; a failed run counts where they ended before it failed."""
    under_it = [under_name(one, part.plan.workload, part.params) for one in facts]
    return _by_id([one for one in under_it if one.state == RunState.FINISHED or _went_through(one.loads)])


def _went_through(loads: Sequence[LoadRecord]) -> bool:
    """Surely: all that was planned was sent, and that is known."""
    return bool(loads) and all(one.unsent == 0 and one.is_complete for one in loads)


def _standing(store: Asked, part: Part, runs: Sequence[Run], facts_by_run: Mapping[str, RunFacts]) -> StudyStanding:
    """What the runs of a study show so far under one workload; those that have not ended show nothing yet."""
    plan = part.plan
    by_arm = {arm.name: tuple(run for run in runs if run.arm == arm.name) for arm in plan.arms}
    found = {name: [facts_by_run[run.id] for run in its if run.id in facts_by_run] for name, its in by_arm.items()}
    arms = {name: Arm(name, tuple(its)) for name, its in found.items() if its}
    objective, values = _values(store, part, arms)
    counts = {name: len(its) for name, its in found.items()}
    causes = {
        name: cause
        for name, its in by_arm.items()
        if (cause := _cause([run for run in its if run.id not in facts_by_run], counts[name], values.get(name, ())))
    }
    refused = _refused(arms, objective, values, plan) if isinstance(objective, Objective) else {}
    higher = not isinstance(objective, Objective) or objective.terms.higher_is_better
    if plan.question == "measure":
        race_now = measured({name: values.get(name, ()) for name in by_arm}, plan.budget.rounds, tuple(causes))
        words = objective.name if isinstance(objective, Objective) else objective
        return StudyStanding(race_now, values, words, by_arm, causes, left=_starts_to_go(race_now, plan))
    logs = {
        name: [math.log(value) if higher else -math.log(value) for value in values.get(name, ())] for name in by_arm
    }
    if plan.is_proposed:
        causes = _of_one_start(by_arm, values) | causes
        race_now, trials = _proposed(plan, logs, by_arm, causes, tuple(refused))
        words = objective.name if isinstance(objective, Objective) else objective
        return StudyStanding(
            race_now, values, words, by_arm, causes, refused, _trials_to_go(plan, race_now, by_arm), {}, trials
        )
    least_sd = STEP_SD if objective == USERS_HELD else 0.0
    chosen = predict_values(store, plan, Measured(arms, by_arm, objective, logs, tuple(causes)))
    race_now = race(logs, plan.margin, tuple(causes), tuple(refused), least_sd, chosen.away)
    if chosen.probe:
        race_now = replace(race_now, next_arms=(chosen.probe,), end=None)
    words = objective.name if isinstance(objective, Objective) else objective
    standing = StudyStanding(race_now, values, words, by_arm, causes, refused, predicted=chosen.predicted)
    rounds = plan.budget.rounds - max((seat.starts for seat in race_now.seats), default=0)
    left = starts_left(race_now, logs, plan.margin, max(1, rounds), max(0, plan.budget.runs - standing.starts))
    return replace(standing, left=left)


def _values(store: Asked, part: Part, arms: Mapping[str, Arm]) -> tuple[Objective | str, dict[str, tuple[float, ...]]]:
    plan = part.plan
    if plan.objective == ACCURACY:
        return ACCURACY, {name: tuple(_shares_right(store, part, arm)) for name, arm in arms.items()}
    if plan.objective == USERS_HELD:
        return USERS_HELD, {name: tuple(_users_held(store, arm)) for name, arm in arms.items()}
    if not arms:
        return plan.objective or "", {}
    objective = parse_objective(plan.objective) if plan.objective else propose(list(arms.values()))
    keys = evidence_keys([load for arm in arms.values() for load in loads_of(arm)], objective)
    known = {name: [replicate(start, objective, keys).value for start in arm.starts] for name, arm in arms.items()}
    return objective, {name: tuple(v for v in its if v is not None) for name, its in known.items()}


def _users_held(store: Asked, arm: Arm) -> list[float]:
    """The users that each start holds; none count as half a user, for the logarithm."""
    by_run = outcomes(store, [run.run_id for run in arm.runs])
    found = [one for loads in by_run.values() for outcome in loads.values() for one in outcome.results]
    return [one.value if one.value else 0.5 for one in found if one.metric == USERS_HELD]


def _shares_right(store: Asked, part: Part, arm: Arm) -> list[float]:
    """The share right of each start, a mean over the tasks of the plan's tool; a task counts its lowest filter."""
    ids = [run.run_id for run in arm.runs]
    asked, by_run = asked_loads(store, ids), outcomes(store, ids)
    values = []
    for run_id in ids:
        mine = {load.load_id for load in asked[run_id] if part.is_of_tool(load)}
        rows = [row for load_id in mine & by_run[run_id].keys() for row in by_run[run_id][load_id].accuracy]
        tasks: dict[str, float] = {}
        for row in rows:
            if row.value is not None:
                tasks[row.task] = min(row.value, tasks.get(row.task, 1.0))
        values += [fmean(tasks.values())] if tasks else []
    return values


def _cause(without_facts: Sequence[Run], with_facts: int, values: Sequence[float]) -> str | None:
    """Why an arm is out for good: its servers fail, or what they did gives no value."""
    failed = [run for run in without_facts if run.state is RunState.FAILED]
    if len(failed) >= MOST_FAILURES:
        return failed[-1].cause or "its server failed"
    return "its load gave no value of the objective" if with_facts - len(values) >= MOST_FAILURES else None


def _refused(
    arms: Mapping[str, Arm], objective: Objective, values: Mapping[str, Sequence[float]], plan: StudyPlan
) -> dict[tuple[str, str], tuple[Row, ...]]:
    """The pairs of arms that the guard does not let be ranked."""
    found: dict[tuple[str, str], tuple[Row, ...]] = {}
    hosts = {arm.name: arm.host for arm in plan.arms}
    for (name, one), (other_name, other) in combinations(arms.items(), 2):
        both = values.get(name, ()), values.get(other_name, ())
        # Whoever gives two arms two machines compares machines on purpose, and says so by that.
        declared = {RowCode.HARDWARE} if hosts[name] != hosts[other_name] else frozenset[RowCode]()
        if rows := refusals(guard(pair_of((one, other), objective, both, plan.margin, declared))):
            found[name, other_name] = tuple(rows)
    return found
