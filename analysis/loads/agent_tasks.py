"""Agent tasks: what each repeat of a task came to, the share that was solved, and the difference of two arms.

The replicate is the agent's run. Repeats of two arms are not paired: each begins in a fresh copy of the folder, and the
k-th repeat of one arm has no more in common with the k-th of another than with any other. So two shares are compared by
Fisher's exact test and Newcombe's interval for independent shares, over all repeats of an arm's loads together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from math import comb, sqrt
from typing import NamedTuple

from analysis.loads.accuracy import LEVEL, ShareInterval, wilson
from analysis.loads.check_items import count_accuracy
from domain import JsonValue
from load_records import AGENT_TASK, Accuracy, SuiteCheck

METRIC = "solved"
SAME_TABLE = 1 + 1e-9  # probabilities that differ by less are equal: they are sums in another order


class TaskEnd(StrEnum):
    """How a repeat ended."""

    SOLVED = "solved"
    CHECK_FAILED = "check_failed"
    CHECK_LATE = "check_late"  # the check passed its own time limit
    LATE = "late"  # the agent passed its time limit
    AGENT_NOT_STARTED = "agent_not_started"
    CHECK_NOT_STARTED = "check_not_started"
    CANCELLED = "cancelled"


VERDICTS = {TaskEnd.SOLVED: True, TaskEnd.CHECK_FAILED: False, TaskEnd.CHECK_LATE: False, TaskEnd.LATE: False}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRepeat:
    """Facts of one repeat; tokens are None if the server did not count them for every turn."""

    end: TaskEnd
    exit_code: int | None = None  # of the agent; negative for a signal, None if it was ended
    check_exit_code: int | None = None
    agent_s: float | None = None
    check_s: float | None = None
    turns: int | None = None  # requests that the server answered
    failed_requests: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None
    ended_processes: int = 0  # that the agent left running

    @property
    def is_solved(self) -> bool | None:
        """Whether the task is solved; None if the repeat says nothing about it."""
        return VERDICTS.get(self.end)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the facts for the check's record."""
        return {**asdict(self), "end": self.end.value}


def repeat_of(check: SuiteCheck) -> TaskRepeat | None:
    """Return the facts of a stored check; None if it is not one of an agent task."""
    known_fields = {field.name for field in fields(TaskRepeat)}
    facts = {name: value for name, value in check.exchange.items() if name in known_fields}
    if check.suite != AGENT_TASK or facts.get("end") not in list(TaskEnd):
        return None
    return TaskRepeat(**{**facts, "end": TaskEnd(facts["end"])})


class SolvedCount(NamedTuple):
    """Solved repeats of a task, of those that say something about it."""

    solved: int
    n: int


def solved_count(checks: Sequence[SuiteCheck]) -> SolvedCount:
    """Count the solved repeats among the checks of agent tasks."""
    verdicts = [check.is_pass for check in checks if check.suite == AGENT_TASK and check.is_pass is not None]
    return SolvedCount(sum(verdicts), len(verdicts))


def task_accuracies(checks: Sequence[SuiteCheck]) -> list[Accuracy]:
    """Return the share of solved repeats of each task, over all these checks, with Wilson's interval.

    Repeats of a task that differ in commands, folder or agent version are tasks of their own, by `item_hash`.
    """
    by_task: dict[tuple[str, str | None], list[SuiteCheck]] = {}
    for check in checks:
        if check.suite == AGENT_TASK and check.is_pass is not None:
            by_task.setdefault((check.case_name, check.item_hash), []).append(check)
    return [_accuracy(task_checks) for task_checks in by_task.values()]


def _accuracy(checks: Sequence[SuiteCheck]) -> Accuracy:
    first, (solved, n) = checks[0], solved_count(checks)
    return count_accuracy(first, f"agent task {first.case_name}", METRIC, solved, n, protocol_hash=first.item_hash)


@dataclass(frozen=True, slots=True)
class SolvedDifference:
    """Contender minus baseline in percentage points, with the test and the counts behind it."""

    points: float
    low: float  # bounds of the interval, in points
    high: float
    p_value: float  # of Fisher's exact test, two-sided
    counts: tuple[SolvedCount, SolvedCount]  # of the baseline and of the contender


def solved_difference(baseline: SolvedCount, contender: SolvedCount, level: float = LEVEL) -> SolvedDifference:
    """Return the difference of two independent shares. ValueError for no repeats."""
    interval = newcombe_independent(baseline, contender, level)
    points = 100 * (contender.solved / contender.n - baseline.solved / baseline.n)
    p_value = fisher_exact(baseline, contender)
    return SolvedDifference(points, 100 * interval.low, 100 * interval.high, p_value, (baseline, contender))


def fisher_exact(first: SolvedCount, second: SolvedCount) -> float:
    """Return the two-sided p value of Fisher's exact test: of all tables that are at most as likely as this one.

    ValueError unless each side has 0 <= solved <= n.
    """
    if not all(0 <= side.solved <= side.n for side in (first, second)):
        raise ValueError(f"{tuple(first)} and {tuple(second)} are no counts.")
    solved, n = first.solved + second.solved, first.n + second.n
    low, high = max(0, solved - second.n), min(first.n, solved)
    weights = {k: comb(first.n, k) * comb(second.n, solved - k) for k in range(low, high + 1)}
    return sum(w for w in weights.values() if w <= weights[first.solved] * SAME_TABLE) / comb(n, solved)


def newcombe_independent(baseline: SolvedCount, contender: SolvedCount, level: float = LEVEL) -> ShareInterval:
    """Return the interval of the difference of two independent shares, contender minus baseline, -1..1.

    Method 10 of R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of
    eleven methods", Statistics in Medicine 17 (1998) 873-890. ValueError for no repeats.
    """
    first, second = (wilson(side.solved, side.n, level) for side in (baseline, contender))
    shares = baseline.solved / baseline.n, contender.solved / contender.n
    difference = shares[1] - shares[0]
    below = sqrt((shares[1] - second.low) ** 2 + (first.high - shares[0]) ** 2)
    above = sqrt((second.high - shares[1]) ** 2 + (shares[0] - first.low) ** 2)
    return ShareInterval(max(-1.0, difference - below), min(1.0, difference + above))
