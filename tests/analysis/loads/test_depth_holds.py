"""Depths until which a suite holds: known verdicts, and the claims' error rates in a small simulation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pytest

from analysis.loads.check_items import check_accuracies, check_pairs
from analysis.loads.depth_holds import depth_holds
from benchmarks.simulations.depth_simulation import simulate
from load_records import SuiteCheck

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


def checks(passed: Mapping[int, int], n: int = 48, load_id: str = "l") -> list[SuiteCheck]:
    """A load whose first `passed` cases of n pass, by depth."""
    return [
        SuiteCheck("r", load_id, NOW, "tool calls", f"case {k}", "whole", k < count, None, {}, depth, 1, f"{depth} {k}")
        for depth, count in passed.items()
        for k in range(n)
    ]


@pytest.mark.parametrize(
    ("passed", "holds_until", "breaks_at"),
    [
        ({0: 48, 8000: 48, 32000: 47}, 32000, None),
        ({0: 48, 8000: 48, 32000: 44}, 8000, None),  # 4 of 48 lost: no certain loss, no certainty of less than 10 %
        ({0: 48, 8000: 48, 32000: 30, 64000: 48}, 8000, 32000),  # what lies beyond a broken depth does not hold
        ({0: 10, 8000: 10, 32000: 0}, None, 32000),  # most cases fail even without a history
    ],
)
def test_claims_of_known_verdicts(passed: dict[int, int], holds_until: int | None, breaks_at: int | None) -> None:
    (claims,) = depth_holds(checks(passed))
    assert (claims.holds_until, claims.breaks_at) == (holds_until, breaks_at)
    assert [(share.depth_tokens, share.passed) for share in claims.shares] == list(passed.items())


def test_single_depth_makes_no_claim() -> None:
    assert depth_holds(checks({8000: 40})) == []


def test_suites_are_tasks_whose_items_are_paired_by_request() -> None:
    first, second = checks({0: 48, 8000: 40}, load_id="a"), checks({0: 48, 8000: 30}, load_id="b")[:-3]
    shares = {accuracy.task: (accuracy.correct, accuracy.n) for accuracy in check_accuracies(first)}
    assert shares == {"tool calls after 0 tokens": (48, 48), "tool calls after 8k tokens": (40, 48)}
    pairs = {
        (one, other, task.depth_tokens): items for one, other, task, items in check_pairs({"a": first, "b": second})
    }
    assert tuple(pairs["a", "b", 8000]) == (30, 10, 0, 5)
    assert tuple(pairs["b", "a", 8000]) == (30, 0, 10, 5)


def test_wrong_claims_are_rare() -> None:
    """The long version's figures are in benchmarks/README.md."""
    rng = np.random.default_rng(7)
    lost = simulate(rng, trials=400, repeats=4, loss=0.10)
    equal = simulate(rng, trials=400, repeats=4, loss=0.0)
    assert lost.holds <= 0.05 and equal.breaks <= 0.05
    assert equal.holds >= 0.3 and simulate(rng, trials=100, repeats=4, loss=0.5).breaks >= 0.9
