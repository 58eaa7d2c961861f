"""Sentences about arms whose answers loop."""

from __future__ import annotations

from tests.analysis.comparison.hand_made import arm, load, run, streams
from web.loop_words import loop_notes


def test_arms_that_loop_equally_often_share_a_sentence() -> None:
    arms = [arm(run(name, load(streams(2)))) for name in ("a", "b", "c", "d")]
    a, b, c, _ = arms
    assert loop_notes(arms, {a.id: 0.5, b.id: 0.2, c.id: 0.5}) == [
        "a, c: 50 % of the answers of each end in a loop; their speeds include that text.",
        "b: 20 % of its answers end in a loop; its speed includes that text.",
    ]
    assert loop_notes(arms, {}) == []
