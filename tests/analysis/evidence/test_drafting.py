"""Draft positions that were reached: shares of request-steps whose first 1, 2, ... draft tokens were accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from analysis.evidence.drafting import Shares, accepted_shares
from load_records import LoadCounters
from tests.analysis.comparison.hand_made import load, mark, request, streams


def counters_before(
    segment: int, tokens: float, steps: float, per_pos: list[float] | None, rank: int = 0
) -> LoadCounters:
    """Totals of one rank before a segment."""
    actual_mark = mark(segment, tokens, rank, first_tokens=0.0, inter_token_count=steps, accepted_tokens=0.0)
    return replace(actual_mark, accepted_per_pos_total=per_pos)


def shares(counters: Sequence[LoadCounters], speculates: bool | None = True, segments: int = 1) -> Shares | None:
    """The shares of two requests of 10 tokens in each segment."""
    responses = [
        request(2 * segment + n, 2.0 * segment + n, segment=segment) for segment in range(segments) for n in range(2)
    ]
    one = load(responses, counters)
    return accepted_shares(one, one.measured, speculates)


def test_increments_over_the_load_by_request_step() -> None:
    actual_shares = shares([counters_before(0, 100, 50, [40.0, 10.0]), counters_before(1, 120, 60, [48.0, 15.0])])
    assert actual_shares == pytest.approx((0.8, 0.5))


def test_segments_and_ranks_are_summed() -> None:
    ranks = [
        *(counters_before(0, 0, 0, None, rank) for rank in range(2)),
        counters_before(1, 12, 6, [3.0, 1.0], 0),
        counters_before(1, 8, 4, [4.0], 1),
    ]
    assert shares(ranks) == pytest.approx((0.7, 0.1)), "a rank that drafts less far has accepted none there"
    parts = [counters_before(0, 0, 0, [0.0]), counters_before(1, 20, 10, [5.0]), counters_before(2, 40, 20, [8.0, 2.0])]
    assert shares(parts, segments=2) == pytest.approx((8 / 20, 2 / 20))


def test_shares_never_rise_above_total() -> None:
    assert shares([counters_before(0, 0, 0, []), counters_before(1, 20, 10, [12.0, 4.0, 6.0])]) == pytest.approx(
        (1.0, 0.4, 0.4)
    )


def test_server_without_speculation_has_no_shares() -> None:
    assert shares([], speculates=False) == ()


def test_missing_counters_leave_drafting_unknown() -> None:
    assert shares([]) is None
    assert shares([counters_before(0, 0, 0, [0.0])]) is None, "none after it"
    assert shares([counters_before(0, 0, 0, None), counters_before(1, 20, 10, None)]) is None
    torn = [
        *(counters_before(0, 0, 0, [0.0], rank) for rank in range(2)),
        counters_before(1, 12, 6, [3.0]),
        counters_before(1, 8, 4, None, 1),
    ]
    assert shares(torn) is None, "one rank tells and one does not"
    half = [counters_before(0, 0, 0, [0.0]), counters_before(1, 20, 10, [5.0]), counters_before(2, 40, 20, None)]
    assert shares(half, segments=2) is None
    no_steps = [mark(0, 0.0, accepted_per_pos=[0.0]), mark(1, 20.0, accepted_per_pos=[5.0])]  # type: ignore[arg-type]
    assert shares(no_steps, None) is None
    one = load(streams(1, segment=None), [counters_before(0, 0, 0, [0.0]), counters_before(1, 10, 5, [5.0])])
    assert accepted_shares(one, one.measured, True) is None


def test_counters_of_other_segments_are_not_asked() -> None:
    far = counters_before(5, 500, 400, [90.0, 90.0])
    assert shares([counters_before(0, 0, 0, [1.0]), counters_before(1, 20, 10, [6.0]), far]) == pytest.approx((0.5,))
