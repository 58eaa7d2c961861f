"""Depths until which a suite holds: known verdicts, and the claims' error rates in a small simulation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np
import pytest

from analysis.loads.check_items import check_accuracies, check_pairs
from analysis.loads.conversation_losses import conversations_needed, is_loss_below
from analysis.loads.depth_holds import depth_holds
from benchmarks.simulations.depth_simulation import simulate, simulate_elsewhere
from load_records import SuiteCheck
from tests.wide import wide_params
from web.loads.depth_words import depth_text

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
    simulation = simulate(rng, trials=400, repeats=4, loss=0.10)
    equal = simulate(rng, trials=400, repeats=4, loss=0.0)
    assert simulation.holds <= 0.05 and equal.breaks <= 0.05
    assert equal.holds >= 0.3 and simulate(rng, trials=100, repeats=4, loss=0.5).breaks >= 0.9


@pytest.mark.parametrize("correlation", [0.3, *wide_params(0.01, 1.0)])
def test_other_conversations_that_lose_the_margin_are_not_said_to_hold(correlation: float) -> None:
    """Of the conversations that were tried, the same loads are said to hold far more often."""
    claims = simulate_elsewhere(np.random.default_rng(8), 150, 50, loss=0.10, correlation=correlation)
    assert claims.elsewhere <= 0.05 <= claims.tried


def test_conversations_without_a_loss_hold_elsewhere() -> None:
    assert simulate_elsewhere(np.random.default_rng(9), 50, 50, loss=0.0, correlation=0.1).elsewhere >= 0.9
    assert simulate_elsewhere(np.random.default_rng(9), 50, 6, loss=0.0, correlation=0.1).elsewhere == 0


def test_number_of_conversations_is_the_least_that_shows_it() -> None:
    needed = conversations_needed([0.0] * 6, 0.1)
    assert needed == 36
    assert is_loss_below([0.0] * needed, 0.1) and not is_loss_below([0.0] * (needed - 1), 0.1)
    assert conversations_needed([1.0, *[0.0] * 5], 0.1) is None, "a sixth of them fails"
    with_failure = [1.0, *[0.0] * 40]
    needed = conversations_needed(with_failure, 0.1)
    assert needed is not None and is_loss_below(with_failure * 3, 0.1) and 41 < needed <= 3 * 41


def test_words_say_what_would_settle_other_conversations() -> None:
    (claims,) = depth_holds(conversations(6))
    assert depth_text(claims) == "hold until 8k tokens in the 6 conversations tried; for others, 36 would settle 8k"
    (claims,) = depth_holds(conversations(40))
    assert depth_text(claims) == "hold until 8k tokens; in other conversations too"
    (claims,) = depth_holds(conversations(6, failed=3))
    assert depth_text(claims).endswith(" in the 6 conversations tried; of others nothing is known at 8k")


def conversations(number: int, failed: int = 0) -> list[SuiteCheck]:
    """Conversations of 12 cases at two depths; the first ones fail as a whole at the second."""
    return [
        SuiteCheck(
            "r", "l", NOW, "tool calls", str(case), "whole", not (depth and n < failed), None, {}, depth, n, f"{n}"
        )
        for n in range(number)
        for depth in (0, 8000)
        for case in range(12)
    ]
