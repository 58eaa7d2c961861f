"""The comparison of some runs, put together: arms, objective, answers, and the repeats that may be added."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.arms import Arm, arm_key, arms_of, is_repeat
from analysis.compare import MARGIN, Comparison, available, compare_arms, propose
from analysis.evidence.loads import common_keys
from analysis.evidence.objectives import Objective
from analysis.facts import RunFacts
from analysis.guard import Pair, RowCode, guard, refusals
from analysis.guard.rows import Row, loads_of
from analysis.replicates import replicate
from analysis.verdict import Earlier, earlier_of
from domain import Run
from reports.facts import facts_of
from storage.ask import run_queries
from storage.ask.queries import Asked

MOST_OFFERED = 12  # repeats that are looked at, the newest
MOST_EARLIER = 24  # runs that are asked for the spread between starts
FEWEST_FOR_SPREAD = 2


@dataclass(frozen=True, slots=True)
class Asking:
    """What a person asked of a comparison beside the runs; an address holds it."""

    objective: Objective | None = None  # None: what the workload proposes
    declared: frozenset[RowCode] = frozenset()
    apart: frozenset[str] = frozenset()  # runs that are arms of their own
    left_out: Mapping[str, str] = field(default_factory=dict)  # run id -> why it does not count
    margin: float = MARGIN


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """Everything that Compare and `./pitwall compare` show."""

    arms: tuple[Arm, ...]
    objective: Objective
    objectives: tuple[Objective, ...]  # what they could be compared by
    answers: tuple[Comparison, ...]  # each further arm against the first
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # arm id -> runs that repeat it, not picked
    earlier_runs: tuple[str, ...] = ()  # whose repeats lent their spread


def comparison_of(store: Asked, runs: Sequence[Run], asking: Asking | None = None) -> ComparisonReport:
    """The comparison of these runs; with a single arm there is nothing to answer, and its repeats are told."""
    asked = asking or Asking()
    arms = arms_of(facts_of(store, runs), asked.apart, asked.left_out)
    objective = asked.objective or propose(arms)
    earlier, lent = _earlier(store, runs, arms, objective)
    answers = (
        compare_arms(arms, objective, declared=asked.declared, margin=asked.margin, earlier=earlier)
        if len(arms) > 1
        else []
    )
    return ComparisonReport(
        tuple(arms), objective, tuple(available(arms)), tuple(answers), offered_repeats(store, runs, arms), lent
    )


def offered_repeats(store: Asked, runs: Sequence[Run], arms: Sequence[Arm]) -> dict[str, tuple[str, ...]]:
    """Arm id -> runs of the store that repeat it and were not picked."""
    candidates = [
        facts
        for facts in facts_of(store, run_queries.likely_repeats(store, runs, MOST_OFFERED))
        if any(load.measured for load in facts.loads)
    ]
    found = {arm.id: tuple(one.run_id for one in candidates if repeats_arm(one, arm)) for arm in arms}
    return {arm_id: run_ids for arm_id, run_ids in found.items() if run_ids}


def repeats_arm(run: RunFacts, arm: Arm) -> bool:
    return all(is_repeat(run, other) for other in arm.runs)


def _earlier(
    store: Asked, runs: Sequence[Run], arms: Sequence[Arm], objective: Objective
) -> tuple[Earlier | None, tuple[str, ...]]:
    """How much one start differs from the next, by earlier repeats: asked for only where an arm has a single start."""
    if len(arms) < 2 or all(len(arm.runs) >= FEWEST_FOR_SPREAD for arm in arms):
        return None, ()
    others = [
        arm
        for arm in arms_of(facts_of(store, run_queries.same_setting(store, runs, MOST_EARLIER)))
        if len(arm.runs) >= FEWEST_FOR_SPREAD
    ]
    groups = [values for arm in others if len(values := _values(arm, objective)) >= FEWEST_FOR_SPREAD]
    found = earlier_of(groups)
    is_enough = found is not None and found.serves
    return (found, tuple(run.run_id for arm in others for run in arm.runs)) if is_enough else (None, ())


def _values(arm: Arm, objective: Objective) -> list[float]:
    keys = common_keys(loads_of(arm))
    told = [replicate(run, objective, keys).value for run in arm.runs]
    return [value for value in told if value is not None]


LIVE_ROWS = (RowCode.MODEL, RowCode.HARDWARE, RowCode.WORKLOAD, RowCode.PROMPTS, RowCode.NEIGHBOURS)


def not_comparable(store: Asked, runs: Sequence[Run]) -> dict[str, Row]:
    """Run id -> why its speed is not held against the first one's while they go on, for those of which it is not."""
    if len(runs) < 2:
        return {}
    first, *others = (alone(facts) for facts in facts_of(store, runs))
    found = {other.id: refusals(_while_live(first, other)) for other in others}
    return {run_id: rows[0] for run_id, rows in found.items() if rows}


def _while_live(first: Arm, other: Arm) -> list[Row]:
    """The rows that no further measuring takes away."""
    pair = Pair(first, other, propose([first, other]), common_keys([*loads_of(first), *loads_of(other)]))
    return [row for row in guard(pair) if row.code in LIVE_ROWS]


def alone(facts: RunFacts) -> Arm:
    """A run as an arm of its own."""
    return Arm(arm_key(facts), (facts,))


def named(arms: Collection[Arm]) -> dict[str, str]:
    """Run id -> name, for words."""
    return {run.run_id: run.name for arm in arms for run in arm.runs}
