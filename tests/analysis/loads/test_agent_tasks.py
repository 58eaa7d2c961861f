"""Solved shares of agent tasks: counts, Fisher's test against scipy's, Newcombe's interval against his examples."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product

import pytest
from scipy.stats import fisher_exact as scipy_fisher

from analysis.loads.agent_tasks import (
    SolvedCount,
    TaskEnd,
    TaskRepeat,
    fisher_exact,
    newcombe_independent,
    repeat_of,
    solved_count,
    solved_difference,
    task_accuracies,
)
from analysis.loads.check_items import check_accuracies
from load_records import AGENT_TASK, SuiteCheck

NOW = datetime(2026, 11, 28, tzinfo=UTC)


def check_of(end: TaskEnd, load_id: str = "l", item_hash: str = "h") -> SuiteCheck:
    repeat = TaskRepeat(end=end, turns=3)
    return SuiteCheck(
        "r", load_id, NOW, AGENT_TASK, "parser", "agent", repeat.is_solved, None, repeat.as_json(), item_hash=item_hash
    )


def test_fisher_is_that_of_scipy() -> None:
    for first, second in product(range(8), range(6)):
        table = [[first, 7 - first], [second, 5 - second]]
        expected = scipy_fisher(table).pvalue
        assert fisher_exact(SolvedCount(first, 7), SolvedCount(second, 5)) == pytest.approx(expected, abs=1e-12)
    assert fisher_exact(SolvedCount(9, 10), SolvedCount(2, 10)) == pytest.approx(0.0055, abs=1e-4)
    with pytest.raises(ValueError, match="no counts"):
        fisher_exact(SolvedCount(3, 2), SolvedCount(0, 1))


def test_interval_is_that_of_newcombe() -> None:
    """Examples a and d of the paper's table II, method 10."""
    assert newcombe_independent(SolvedCount(48, 80), SolvedCount(56, 70)) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe_independent(SolvedCount(9, 10), SolvedCount(3, 10)) == pytest.approx((-0.8090, -0.1705), abs=5e-5)


def test_cancelled_repeats_do_not_count() -> None:
    checks = [check_of(end) for end in (TaskEnd.SOLVED, TaskEnd.LATE, TaskEnd.CANCELLED, TaskEnd.AGENT_NOT_STARTED)]
    assert solved_count(checks) == (1, 2)
    assert [repeat_of(check) and repeat_of(check).end for check in checks] == [
        check.exchange["end"] for check in checks
    ]


def test_repeats_of_one_task_are_pooled_and_those_of_others_not() -> None:
    checks = [check_of(TaskEnd.SOLVED, "a"), check_of(TaskEnd.SOLVED, "b"), check_of(TaskEnd.LATE, "b", "other")]
    rows = task_accuracies(checks)
    assert [(row.task, row.correct, row.n, row.protocol_hash) for row in rows] == [
        ("agent task parser", 2, 2, "h"), ("agent task parser", 0, 1, "other"),
    ]  # fmt: skip
    assert check_accuracies(checks) == [], "repeats are no paired items"


def test_difference_has_points_and_counts() -> None:
    difference = solved_difference(SolvedCount(2, 10), SolvedCount(9, 10))
    assert difference.points == pytest.approx(70) and difference.low > 0 and difference.p_value < 0.01
    assert solved_difference(SolvedCount(5, 10), SolvedCount(6, 10)).p_value == pytest.approx(1.0)
