"""A difference that may be made of waiting for a CPU is not claimed; where nothing is claimed nothing is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.compare import pair_of as pair_by
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import Kind, Objective
from analysis.guard import CHECKS, RowCode, Standing
from analysis.runs.conditions import Conditions, waits_may_explain
from tests.comparison.hand_made import arm, load, pair_of, run, streams
from web.compare.answer.guard_words import row_words

WORDS = (
    "0 % and 10 % of the time that its threads wanted a CPU they waited for one; "
    "the slower arm waited longer, which may be half of the difference or more"
)


def waited(*shares: float | None, others: float | None = 1.0) -> list[Conditions]:
    return [Conditions("r", starvation_ratio=share, other_cores=others) for share in shares]


def start(share: float | None, others: float | None = 1.0) -> RunFacts:
    return replace(run("r", load(streams(1))), conditions=tuple(waited(share, others=others)))


def found(a: RunFacts, b: RunFacts, ratio: float | None, objective: str = "decode_tps", is_claimed: bool = True) -> Any:
    return CHECKS[RowCode.STARVATION](pair_of([a], [b], objective, ratio=ratio, is_claimed=is_claimed))


@pytest.mark.parametrize(
    ("times", "expected"), [(1.05, True), (1 / 0.9, True), (1 / 0.9**2 - 1e-9, True), (1 / 0.9**2 + 1e-9, False)]
)
def test_from_half_of_a_difference_on_waits_may_be_it(times: float, expected: bool) -> None:
    assert waits_may_explain(waited(0.1), waited(0.0), times) is expected


def test_the_mean_of_an_arms_starts_counts_and_what_is_not_known_is_left_out() -> None:
    assert waits_may_explain(waited(0.0, None, 0.2), waited(0.0, 0.0), 1.2)
    assert not waits_may_explain(waited(0.0, None, 0.2), waited(0.0, 0.2), 1.2)
    assert not waits_may_explain(waited(None), waited(0.0), 1.01)
    assert not waits_may_explain(waited(0.1), waited(None), 1.01)
    assert waits_may_explain(waited(1.0), waited(0.0), 9.0), "a server that never had one"


def test_threads_of_one_server_that_wait_for_each_other_explain_nothing() -> None:
    assert not waits_may_explain(waited(0.1, others=0.3), waited(0.0, others=0.3), 1.05)
    assert waits_may_explain(waited(0.1, others=None), waited(0.0, others=0.3), 1.05), "others perhaps worked"


def test_a_claim_that_may_be_waits_is_refused_and_nothing_else_is() -> None:
    calm, held = start(0.0), start(0.1)
    refused = found(calm, held, 0.95)
    assert refused.standing is Standing.MATTERS and row_words(refused, {}) == WORDS
    assert found(held, calm, 1.05).standing is Standing.MATTERS
    assert found(calm, held, 1.05, "ttft_ms@1").standing is Standing.MATTERS, "a longer time is a slower arm"
    assert found(calm, held, 1.05).standing is Standing.SAME, "the faster arm waited"
    assert found(calm, held, 0.5).standing is Standing.SAME, "far more than waits could make"
    assert found(calm, held, 0.95, is_claimed=False).standing is Standing.SAME
    assert found(calm, held, None).standing is Standing.SAME
    assert found(start(0.0), start(0.3), 0.95).values.get("may_explain") is None, "unlike by themselves"


def test_a_start_is_judged_by_what_it_waited_itself() -> None:
    """What it waited under its load is not asked, and of a start that nobody saw nothing is known."""
    calm, held = (
        replace(start(other), startup_conditions=tuple(waited(own))) for own, other in ((0.0, 0.3), (0.1, 0.0))
    )
    assert found(calm, held, 1.05, "startup_s").standing is Standing.MATTERS
    assert found(calm, held, 0.95, "startup_s").standing is Standing.SAME, "the slower one waited for nothing"
    assert found(start(0.0), start(0.3), 1.05, "startup_s").standing is Standing.UNKNOWN


def test_two_arms_with_the_values_of_their_starts() -> None:
    sides = (arm(start(0.0)), arm(start(0.1)))
    told = pair_by(sides, Objective(Kind.DECODE_TPS), ([100.0, 101.0, 100.5], [95.0, 95.5, 96.0]), 0.02)
    assert told.is_claimed and told.ratio == pytest.approx(0.9502, abs=1e-3)
    assert not pair_by(sides, Objective(Kind.DECODE_TPS), ([100.0, 101.0], [95.0, 105.5])).is_claimed
    assert told.arms == sides and len(told.keys) == 1 and not told.declared
    assert not told.is_other_faster
    close = ([100.0, 100.1, 100.2], [97.0, 97.1, 97.2])
    assert pair_by(sides, Objective(Kind.DECODE_TPS), close, 0.02).is_claimed
    assert not pair_by(sides, Objective(Kind.DECODE_TPS), close, 0.10).is_claimed, "the same within this margin"
    declared = pair_by(sides, Objective(Kind.DECODE_TPS), close, 0.02, [RowCode.MODEL])
    assert declared.declared == frozenset({RowCode.MODEL})
    for values in (([], [1.0]), ([1.0, 0.0], [1.0, 2.0])):
        assert pair_by(sides, Objective(Kind.DECODE_TPS), values).ratio is None, values
