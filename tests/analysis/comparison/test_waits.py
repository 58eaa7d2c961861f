"""A difference that may be made of waiting for a CPU is not claimed; where nothing is claimed nothing is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from analysis.compare_arms import pair_of as pair_by
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.guard import CHECKS, RowCode, RowStatus
from analysis.runs.conditions import Conditions, starvation, wait_effect
from tests.analysis.comparison.hand_made import arm, load, pair_of, run, streams
from web.compare.answer.guard_words import row_text

WORDS = (
    "0 % and 10 % of the time, threads waited for a core; "
    "the slower arm waited longer, which may explain half of the difference or more"
)


def waited(*shares: float | None, value: float | None = 1.0) -> list[Conditions]:
    return [Conditions("r", starvation_ratio=share, other_cores=value) for share in shares]


def start(share: float | None, value: float | None = 1.0) -> RunFacts:
    return replace(run("r", load(streams(1))), conditions=tuple(waited(share, value=value)))


def starvation_row(
    a: RunFacts, b: RunFacts, ratio: float | None, objective: str = "decode_tps", is_claimed: bool = True
) -> Any:
    return CHECKS[RowCode.STARVATION](pair_of([a], [b], objective, ratio=ratio, is_claimed=is_claimed))


@pytest.mark.parametrize(
    ("times", "expected"), [(1.05, True), (1 / 0.9, True), (1 / 0.9**2 - 1e-9, True), (1 / 0.9**2 + 1e-9, False)]
)
def test_waits_explain_half_of_a_difference(times: float, expected: bool) -> None:
    refused = starvation_row(start(0.1), start(0.0), times)
    assert (refused.status is RowStatus.MATTERS) is expected


def test_effect_of_waits_is_that_of_the_means() -> None:
    """Unknown waits of a start are no zeros."""
    assert wait_effect(waited(0.0, None, 0.2), waited(0.0, 0.0)) == pytest.approx(-math.log(0.9))
    assert wait_effect(waited(0.0, 0.2), waited(0.0, None, 0.2)) == 0.0
    assert wait_effect(waited(0.0), waited(0.2)) == pytest.approx(math.log(0.8))
    assert wait_effect(waited(None), waited(0.0)) is None and wait_effect(waited(0.1), waited(None)) is None
    assert wait_effect(waited(1.0), waited(0.0)) == math.inf, "a server that never had one"
    assert wait_effect(waited(0.0), waited(1.0)) == -math.inf and wait_effect(waited(1.0), waited(1.0)) == 0.0


def test_mutually_waiting_threads_are_no_cause() -> None:
    assert wait_effect(waited(0.1, value=0.3), waited(0.0, value=0.3)) is None
    assert wait_effect(waited(0.1, value=None), waited(0.0, value=0.3)), "others perhaps worked"


def test_waits_count_as_a_share_of_the_time() -> None:
    """Two fifths of what a GPU's server wanted are 2 % of the time; of many threads, each waited a tenth."""
    light = Conditions("r", starvation_ratio=0.4, wait_share=0.02, other_cores=1.0)
    crowded = Conditions("r", starvation_ratio=0.1, wait_share=0.8, other_cores=1.0)
    assert (light.lost_share, crowded.lost_share) == (0.02, 0.1)
    assert Conditions("r", wait_share=0.1).lost_share is None
    calm = Conditions("r", starvation_ratio=0.01, wait_share=0.001, other_cores=1.0)
    assert starvation([calm], [light]).level == "same" and starvation([light], [light]).level == "same"
    assert starvation([calm], [light], margin=0.01).level == "matters"
    assert starvation([calm], [replace(light, wait_share=0.03)]).level == "matters"
    assert starvation([replace(light, wait_share=0.03)], [replace(light, wait_share=0.03)]).level == "warns"
    assert starvation([replace(calm, starvation_ratio=0.93)], [replace(calm, starvation_ratio=0.99)]).level == "same"


def test_only_wait_prone_claims_are_refused() -> None:
    calm, facts = start(0.0), start(0.1)
    refused = starvation_row(calm, facts, 0.95)
    assert refused.status is RowStatus.MATTERS and row_text(refused, {}) == WORDS
    assert starvation_row(facts, calm, 1.05).status is RowStatus.MATTERS
    assert starvation_row(calm, facts, 1.05, "ttft_ms@1").status is RowStatus.MATTERS, "a longer time is a slower arm"
    assert starvation_row(calm, facts, 1.05).status is RowStatus.SAME, "the faster arm waited"
    assert starvation_row(calm, facts, 0.5).status is RowStatus.SAME, "far more than waits could make"
    assert starvation_row(calm, facts, 0.95, is_claimed=False).status is RowStatus.SAME
    assert starvation_row(calm, facts, None).status is RowStatus.SAME
    assert starvation_row(start(0.0), start(0.3), 0.95).values.get("may_explain") is None, "unlike by themselves"


def test_start_is_judged_by_its_own_waits() -> None:
    """What it waited under its load is not asked, and of a start that nobody saw nothing is known."""
    calm, facts = (
        replace(start(other), startup_conditions=tuple(waited(own))) for own, other in ((0.0, 0.3), (0.1, 0.0))
    )
    assert starvation_row(calm, facts, 1.05, "startup_s").status is RowStatus.MATTERS
    assert starvation_row(calm, facts, 0.95, "startup_s").status is RowStatus.SAME, "the slower one waited for nothing"
    assert starvation_row(start(0.0), start(0.3), 1.05, "startup_s").status is RowStatus.UNKNOWN


def test_two_arms_with_the_values_of_their_starts() -> None:
    sides = (arm(start(0.0)), arm(start(0.1)))
    pair = pair_by(sides, Objective(ObjectiveKind.DECODE_TPS), ([100.0, 101.0, 100.5], [95.0, 95.5, 96.0]), 0.02)
    assert pair.is_claimed and pair.ratio == pytest.approx(0.9502, abs=1e-3)
    assert not pair_by(sides, Objective(ObjectiveKind.DECODE_TPS), ([100.0, 101.0], [95.0, 105.5])).is_claimed
    assert pair.arms == sides and len(pair.keys) == 1 and not pair.declared
    assert not pair.is_contender_faster
    close = ([100.0, 100.1, 100.2], [97.0, 97.1, 97.2])
    assert pair_by(sides, Objective(ObjectiveKind.DECODE_TPS), close, 0.02).is_claimed
    assert not pair_by(sides, Objective(ObjectiveKind.DECODE_TPS), close, 0.10).is_claimed, (
        "the same within this margin"
    )
    declared = pair_by(sides, Objective(ObjectiveKind.DECODE_TPS), close, 0.02, [RowCode.MODEL])
    assert declared.declared == frozenset({RowCode.MODEL})
    for values in (([], [1.0]), ([1.0, 0.0], [1.0, 2.0])):
        assert pair_by(sides, Objective(ObjectiveKind.DECODE_TPS), values).ratio is None, values
