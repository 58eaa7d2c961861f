"""Accuracies of a comparison's arms on the same tasks, and their differences from the baseline by the shared items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.compare_arms import pair_of
from analysis.comparison.arms import Arm
from analysis.decide.viewpoints import QUALITY_ROWS
from analysis.guard import GuardRow, RowCode, RowStatus, guard, refusals
from analysis.loads.accuracy import LEVEL
from analysis.loads.agent_tasks import METRIC as SOLVED
from analysis.loads.agent_tasks import SolvedCount, SolvedDifference, solved_difference, task_accuracies
from analysis.loads.check_items import check_accuracies, check_pairs
from analysis.loads.paired_accuracy import PairedDifference, PairedItems, paired_difference
from load_records import Accuracy
from reasons import Code, Reason
from reports.arms.comparison import ComparisonReport, load_objective
from storage.queries.load_queries import ItemPairs, LoadOutcome, ScoredTask, item_pairs
from storage.queries.run_data import Queryable

Outcomes = Mapping[str, Mapping[str, LoadOutcome]]  # run id -> load id -> its outcome


class AccuracyTask(NamedTuple):
    """A task under one filter, scored by one metric."""

    task: str
    filter: str
    metric: str

    @property
    def title(self) -> str:
        """'mmlu_pro', or 'gsm8k (strict-match)' if there is a choice of filters."""
        return f"{self.task} ({self.filter})" if self.filter != "none" else self.task


@dataclass(frozen=True, slots=True)
class AccuracyComparison:
    """One arm's accuracy against the baseline's.

    `difference`: of the shared items, or of the repeats of an agent task; None: `reason` says why.
    """

    arm: Arm
    accuracy: Accuracy
    baseline: Accuracy
    difference: PairedDifference | SolvedDifference | None = None
    reason: Reason | None = None
    refused: tuple[GuardRow, ...] = ()

    @property
    def points(self) -> float:
        """The difference in percentage points: of the shared items, else of the two accuracies."""
        if self.difference is not None:
            return self.difference.points
        return 100 * ((self.accuracy.value or 0.0) - (self.baseline.value or 0.0))

    @property
    def is_ranked(self) -> bool:
        """Whether a test is behind the difference and the guard lets the arms be ranked."""
        return self.difference is not None and not self.refused


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One task: the first known accuracy of each arm by arm id, and the comparisons with the first arm's."""

    title: str
    accuracies: Mapping[str, Accuracy]
    comparisons: Mapping[str, AccuracyComparison] = field(default_factory=dict)  # by arm id


def accuracies_of(arm: Arm, outcomes: Outcomes) -> list[Accuracy]:
    """Return the arm's known accuracies, in the order of its runs."""
    loads = [outcome for run in arm.runs for outcome in outcomes.get(run.run_id, {}).values()]
    accuracies = [row for outcome in loads for row in (*outcome.accuracy, *check_accuracies(outcome.checks))]
    # The replicate of an agent task is the agent's run: those of all its loads count together.
    accuracies += task_accuracies([check for outcome in loads for check in outcome.checks])
    return [accuracy for accuracy in accuracies if accuracy.value is not None]


def read_item_pairs(store: Queryable, arms: Sequence[Arm], outcomes: Outcomes) -> ItemPairs:
    """Return the shared items of the arms' loads that have an accuracy."""
    accuracies = [accuracy for arm in arms for accuracy in accuracies_of(arm, outcomes)]
    load_ids = sorted({accuracy.load_id for accuracy in accuracies})
    if len(load_ids) < 2:
        return {}
    stored_pairs = item_pairs(store, sorted({accuracy.run_id for accuracy in accuracies}), load_ids)
    return {**stored_pairs, **_check_pairs(accuracies, outcomes)}


def _check_pairs(accuracies: Sequence[Accuracy], outcomes: Outcomes) -> ItemPairs:
    """Return the shared items of suites of checks, by the tasks that were counted."""
    tasks = {(accuracy.load_id, accuracy.task): _scored(accuracy) for accuracy in accuracies}
    checks = {load_id: outcome.checks for by_load in outcomes.values() for load_id, outcome in by_load.items()}
    return {
        (tasks[first, task.title], tasks[second, task.title]): items
        for first, second, task, items in check_pairs(checks)
        if (first, task.title) in tasks and (second, task.title) in tasks
    }


def items_between(pairs: ItemPairs, baseline: Accuracy, contender: Accuracy) -> PairedItems | None:
    """Return the shared items of two accuracies; None unless the stored items are those that were counted."""
    return pairs.get((_scored(baseline), _scored(contender))) if baseline.metric == contender.metric else None


def _scored(accuracy: Accuracy) -> ScoredTask:
    return ScoredTask(accuracy.load_id, accuracy.task, accuracy.filter, accuracy.correct, accuracy.n)


def accuracy_rows(report: ComparisonReport, outcomes: Outcomes, pairs: ItemPairs) -> list[AccuracyRow]:
    """Return one row per task that an arm was scored on; intervals hold for all arms of a task jointly."""
    by_arm = {arm.id: _first_by_task(arm, outcomes) for arm in report.arms}
    tasks = list(dict.fromkeys(task for accuracies in by_arm.values() for task in accuracies))
    titles = Counter(task.title for task in tasks)
    rows = []
    for task in tasks:
        scored = {arm_id: accuracies[task] for arm_id, accuracies in by_arm.items() if task in accuracies}
        comparisons = {comparison.arm.id: comparison for comparison in _comparisons(report, scored, pairs)}
        title = f"{task.title}, {task.metric}" if titles[task.title] > 1 else task.title
        rows.append(AccuracyRow(title, scored, comparisons))
    return rows


def _first_by_task(arm: Arm, outcomes: Outcomes) -> dict[AccuracyTask, Accuracy]:
    first: dict[AccuracyTask, Accuracy] = {}
    for accuracy in accuracies_of(arm, outcomes):
        first.setdefault(AccuracyTask(accuracy.task, accuracy.filter, accuracy.metric), accuracy)
    return first


def _comparisons(
    report: ComparisonReport, accuracies: Mapping[str, Accuracy], pairs: ItemPairs
) -> Iterator[AccuracyComparison]:
    contenders = [arm for arm in report.arms[1:] if arm.id in accuracies]
    if not contenders or report.arms[0].id not in accuracies:
        return
    first = report.arms[0]
    baseline = accuracies[first.id]
    for arm in contenders:
        accuracy = accuracies[arm.id]
        level = 1 - (1 - LEVEL) / len(contenders)
        difference = _difference(baseline, accuracy, items_between(pairs, baseline, accuracy), level)
        yield AccuracyComparison(
            arm,
            accuracy,
            baseline,
            difference,
            None if difference else Reason(Code.NO_ITEM_PAIRS),
            tuple(_refusals(report, first, arm, baseline.protocol_hash == accuracy.protocol_hash)),
        )


def _difference(
    baseline: Accuracy, contender: Accuracy, items: PairedItems | None, level: float
) -> PairedDifference | SolvedDifference | None:
    """Return the tested difference: of repeats for agent tasks, else of the shared items; None without these."""
    if baseline.metric == SOLVED:
        return solved_difference(_solved(baseline), _solved(contender), level)
    return paired_difference(items, level) if items else None


def _solved(accuracy: Accuracy) -> SolvedCount:
    assert accuracy.correct is not None and accuracy.n is not None
    return SolvedCount(accuracy.correct, accuracy.n)


def _refusals(report: ComparisonReport, first: Arm, second: Arm, is_same_protocol: bool) -> list[GuardRow]:
    """Return the guard rows that forbid ranking two accuracies; different protocols are different definitions."""
    pair = pair_of((first, second), load_objective(report), margin=report.margin, declared=report.declared)
    rows = [row for row in refusals(guard(pair)) if row.code in QUALITY_ROWS]
    return rows if is_same_protocol else [*rows, GuardRow(RowCode.WORKLOAD, RowStatus.MATTERS)]
