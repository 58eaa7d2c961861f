"""The comparison of some runs, put together: arms, objective, answers, and the repeats that may be added."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.comparison.arms import Arm, arm_key, arms_of, is_repeat
from analysis.comparison.compare import Comparison, available, compare_arms, pair_of, propose
from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import replicate
from analysis.comparison.workload import Workload, find_workload, is_under, shared_workloads, under
from analysis.evidence.loads import common_keys
from analysis.evidence.measure import evidence_keys
from analysis.evidence.objectives import Kind, Objective
from analysis.guard import Pair, RowCode, guard, refusals
from analysis.guard.rows import Row, loads_of
from analysis.runs.conditions import Span
from analysis.runs.windows import Window
from analysis.verdict import MARGIN, Earlier, earlier_of
from domain import Run
from reports.arms.facts import WindowsOf, facts_of, stored_windows
from reports.arms.other_loads import other_loads
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
    workload: str | None = None  # its id or name; None: the one that most of the runs share


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """Everything that Compare and `./pitwall compare` show."""

    arms: tuple[Arm, ...]
    objective: Objective
    objectives: tuple[Objective, ...]  # what they could be compared by
    answers: tuple[Comparison, ...]  # each further arm against the first
    earlier: tuple[RunFacts, ...] = ()  # whose repeats lent their spread
    workload: Workload | None = None  # whose loads are compared; None: the runs share none
    workloads: tuple[Workload, ...] = ()  # that they could be compared under
    margin: float = MARGIN
    other_loads: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)  # run id -> its loads not compared


def comparison_of(
    store: Asked, runs: Sequence[Run], asking: Asking | None = None, windows_of: WindowsOf = stored_windows
) -> ComparisonReport:
    """The comparison of these runs; with a single arm there is nothing to answer, and its repeats are shown.

    Raises WorkloadNotSharedError where the workload that is asked for is not shared.
    """
    asked = asking or Asking()
    facts = facts_of(store, runs, windows_of=windows_of)
    workloads = shared_workloads(facts)
    workload = find_workload(workloads, asked.workload)
    compared = [under(one, workload) for one in facts]
    arms = arms_of(compared, asked.apart, asked.left_out)
    objective = asked.objective or propose(arms)
    earlier, lent = _earlier(store, runs, arms, objective, workload, windows_of)
    answers = (
        compare_arms(arms, objective, declared=asked.declared, margin=asked.margin, earlier=earlier)
        if len(arms) > 1
        else []
    )
    return ComparisonReport(
        tuple(arms),
        objective,
        tuple(available(arms)),
        tuple(answers),
        lent,
        workload,
        tuple(workloads),
        asked.margin,
        {one.run_id: other_loads(one, its) for one, its in zip(facts, compared, strict=True)},
    )


def ranked_by(report: ComparisonReport, objective: Objective | None) -> frozenset[str]:
    """The ids of the arms that the guard lets be held against the first by this objective.

    objective: None for a number that belongs to none, which is held to what the loads are compared by.
    """
    asked = objective or of_the_loads(report)
    if asked == report.objective:
        return frozenset(answer.pair.other.id for answer in report.answers if answer.is_ranked)
    declared = report.answers[0].pair.declared if report.answers else frozenset()
    pairs = [pair_of((report.arms[0], arm), asked, margin=report.margin, declared=declared) for arm in report.arms[1:]]
    return frozenset(pair.other.id for pair in pairs if not refusals(guard(pair)))


def of_the_loads(report: ComparisonReport) -> Objective:
    """What the comparison is by; where that is the start-up, before any load, what the loads propose."""
    is_of_loads = report.objective.kind is not Kind.STARTUP_S
    return report.objective if is_of_loads else propose(report.arms)


def rungs_of(report: ComparisonReport, asking: Asking) -> list[list[Comparison]]:
    """The answers at every concurrency that the loads share, where one of them is what is compared by."""
    if report.objective.kind is not Kind.OUTPUT_TPS or len(report.arms) < 2:
        return []
    rungs = sorted(one for one in report.objectives if one.kind is Kind.OUTPUT_TPS)
    return [compare_arms(report.arms, one, declared=asking.declared, margin=asking.margin) for one in rungs]


def offered_repeats(store: Asked, runs: Sequence[Run], report: ComparisonReport) -> list[str]:
    """Runs of the store that repeat one of its arms and were not picked."""
    likely = run_queries.likely_repeats(store, runs, MOST_OFFERED)
    found = facts_of(store, likely, with_pieces=False, windows_of=_no_windows)  # which runs without a load of ours have
    candidates = [under(one, report.workload) for one in found if any(load.measured for load in one.loads)]
    return [
        one.run_id for one in candidates if any(all(is_repeat(one, run) for run in arm.runs) for arm in report.arms)
    ]


def _no_windows(store: Asked, runs: Sequence[Run]) -> Mapping[str, Sequence[Window]]:
    return {}


def _earlier(
    store: Asked,
    runs: Sequence[Run],
    arms: Sequence[Arm],
    objective: Objective,
    workload: Workload | None,
    windows_of: WindowsOf,
) -> tuple[Earlier | None, tuple[RunFacts, ...]]:
    """How much one start differs from the next, by earlier repeats: asked for only where an arm has a single start."""
    if len(arms) < 2 or all(len(arm.starts) >= FEWEST_FOR_SPREAD for arm in arms):
        return None, ()
    setting = run_queries.same_setting(store, runs, MOST_EARLIER)
    with_pieces = objective.kind is Kind.OUTPUT_TPS
    found = facts_of(store, setting, with_pieces, windows_of)
    alike = [under(one, workload) for one in found if workload is None or is_under(one, workload)]
    others = [arm for arm in arms_of(alike) if len(arm.starts) >= FEWEST_FOR_SPREAD]
    groups = [values for arm in others if len(values := _values(arm, objective)) >= FEWEST_FOR_SPREAD]
    earlier = earlier_of(groups)
    is_enough = earlier is not None and earlier.serves
    return (earlier, tuple(run for arm in others for run in arm.runs)) if is_enough else (None, ())


def _values(arm: Arm, objective: Objective) -> list[float]:
    keys = evidence_keys(loads_of(arm), objective)
    values = [replicate(start, objective, keys).value for start in arm.starts]
    return [value for value in values if value is not None]


LIVE_ROWS = (RowCode.MODEL, RowCode.HARDWARE, RowCode.WORKLOAD, RowCode.PROMPTS, RowCode.NEIGHBOURS)


def not_comparable(store: Asked, runs: Sequence[Run], windows_of: WindowsOf = stored_windows) -> dict[str, Row]:
    """Run id -> why its speed is not held against the first one's, for those of which it is not.

    Of two that have ended everything counts; while one goes on, what no further measuring takes away.
    """
    if len(runs) < 2:
        return {}
    facts = facts_of(store, runs, windows_of=windows_of)
    workload = find_workload(shared_workloads(facts), None)
    first, *others = (alone(under(one, workload)) for one in facts)
    goes_on = {run.id for run in runs if not run.state.is_final}
    asked = {other.id: LIVE_ROWS if {first.id, other.id} & goes_on else tuple(RowCode) for other in others}
    found = {other.id: refusals(_rows(first, other, asked[other.id])) for other in others}
    return {run_id: rows[0] for run_id, rows in found.items() if rows}


def _rows(first: Arm, other: Arm, codes: Collection[RowCode]) -> list[Row]:
    """The guard's rows of these codes."""
    pair = Pair(first, other, propose([first, other]), common_keys([*loads_of(first), *loads_of(other)]))
    return [row for row in guard(pair) if row.code in codes]


def alone(facts: RunFacts) -> Arm:
    """A run as an arm of its own."""
    return Arm(arm_key(facts), (facts,))


def named(arms: Collection[Arm]) -> dict[str, str]:
    """Run id -> name, for words."""
    return {run.run_id: run.name for arm in arms for run in arm.runs}
