"""The steady part of a phase, by requests whose times are written here."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.evidence.steady import full_load_spans, merge_outputs, steady_output, token_times
from tests.analysis.comparison.hand_made import request, streams


def test_ramp_and_tail_fall_out() -> None:
    """Two streams, the second a second later and as much longer: both run from 1 s to 3 s."""
    first = [request(n, float(n), 2, total_ms=1000.0) for n in range(3)]
    second = [request(3 + n, 1.0 + n, 2) for n in range(3)]
    assert full_load_spans([*first, *second], 2) == [(1.0, 3.0)]
    output = steady_output([*first, *second], 2)
    assert output is not None
    assert (output.seconds, output.running, output.tokens) == (2.0, 2.0, 40.0)
    assert output.prefill_share == pytest.approx(0.1) and output.output_tps == 20.0


def test_full_load_is_nine_of_ten_not_eight() -> None:
    def running(count: int) -> list[tuple[float, float]]:
        return full_load_spans([request(n, 0.0, 10) for n in range(count)], 10)

    assert running(9) == [(0.0, 1.0)] and running(8) == []
    assert steady_output([request(n, 0.0, 10) for n in range(8)], 10) is None


def test_a_pause_is_no_part_of_it() -> None:
    """Two pairs of requests with five seconds between them."""
    output = steady_output([request(n, at_s, 2) for n, at_s in enumerate((0.0, 0.0, 6.0, 6.0))], 2)
    assert output is not None
    assert (output.seconds, output.running, output.tokens) == (2.0, 2.0, 40.0)
    assert output.prefill_share == pytest.approx(0.1)


def test_request_counts_by_its_full_load_part() -> None:
    """One of 4 s beside one of 1 s that begins a second later: a quarter of the long one's tokens lie there."""
    long = request(0, 0.0, 2, total_ms=4000.0, chunk_us=[500_000] * 8, chunk_tokens=[1, 2, 3, 4, 5, 6, 7, 8])
    short = request(1, 1.0, 2, completion_tokens=1, decode_ms=0.0)
    output = steady_output([long, short], 2)
    assert output is not None and (output.seconds, output.tokens) == (1.0, 3 + 4 + 1)
    assert output.prefill_share == pytest.approx(0.1 / 2)


def test_last_token_ends_its_request() -> None:
    """The last chunk arrives when the request ends: no sum of floats puts it a bit later, outside."""
    chunk_us = [4_917_908, 5_000_000]
    ended = {"total_ms": sum(chunk_us) / 1000, "chunk_us": chunk_us, "chunk_tokens": [1, 1], "completion_tokens": 2}
    output = steady_output([request(n, 3.837993, 2, **ended) for n in range(2)], 2)
    assert output is not None and output.tokens == 4


def test_failed_requests_take_a_place_not_tokens() -> None:
    output = steady_output([request(0, 0.0, 2), request(1, 0.0, 2, error_kind="http")], 2)
    assert output is not None and (output.seconds, output.tokens) == (1.0, 10.0)
    assert steady_output([request(n, 0.0, 2, error_kind="http") for n in range(2)], 2) is None


def test_requests_without_times_are_no_part_of_it() -> None:
    bare = [request(0, since_phase_s=None), request(1, total_ms=None)]
    assert steady_output(bare, 1) is None
    output = steady_output([*bare, request(2), request(3, 5.0)], 1)
    assert output is not None and (output.in_flight_s, output.seconds) == (2.0, 2.0)
    assert list(token_times(bare[0])) == list(token_times(request(0, completion_tokens=0))) == []


def test_the_times_of_tokens() -> None:
    assert [at_s for at_s, _ in token_times(request(0, 2.0))] == pytest.approx([2.1 + 0.1 * n for n in range(10)])
    assert {count for _, count in token_times(request(0))} == {1.0}
    assert list(token_times(request(0, completion_tokens=1))) == [(0.1, 1.0)]
    counted = request(0, 1.0, completion_tokens=5, chunk_us=[200_000, 300_000], chunk_tokens=[1, 4])
    assert list(token_times(counted)) == [(1.2, 1), (1.5, 4)]
    uncounted = request(0, 1.0, completion_tokens=5, chunk_us=[200_000, 300_000])
    assert list(token_times(uncounted)) == [(1.2, 2.5), (1.5, 2.5)]


def test_billion_token_claim_costs_no_memory() -> None:
    """A record without its pieces once became a list of a billion times."""
    claimed = list(token_times(request(0, completion_tokens=10**9)))
    assert len(claimed) == 1000 and sum(count for _, count in claimed) == pytest.approx(1e9)
    assert (claimed[0][0], claimed[-1][0]) == pytest.approx((0.1, 1.0))


def test_partly_counted_pieces_share_tokens() -> None:
    """A record whose two lists are of unlike length, as another tool may write it."""
    odd = request(0, 1.0, completion_tokens=6, chunk_us=[200_000, 300_000], chunk_tokens=[1, 4, 1])
    assert list(token_times(odd)) == [(1.2, 3.0), (1.5, 3.0)]
    assert steady_output([odd], 1) is not None


def test_the_parts_of_several_phases_are_one() -> None:
    output, other_output = (steady_output(streams(2, 2), 2), steady_output(streams(1, 2, completion_tokens=4), 2))
    assert output and other_output
    assert merge_outputs([output, other_output]) == (48.0, 48, 3.0, 6.0, pytest.approx(0.6), 6.0, 6)
    assert merge_outputs([output, other_output]).running == 2.0


def test_long_load_with_gaps_sums_its_parts() -> None:
    """20,000 requests in streams that each pause a moment: thousands of stretches, each request asked of all."""
    rng = np.random.default_rng(1)
    concurrency, count = 8, 2_500
    starts = np.cumsum(1.0 + rng.uniform(0.0, 0.01, (concurrency, count)), axis=1)
    responses = [
        request(n * concurrency + s, float(starts[s, n]), concurrency) for s in range(concurrency) for n in range(count)
    ]
    stretches = full_load_spans(responses, concurrency)
    output = steady_output(responses, concurrency)
    assert output is not None and len(stretches) > 1_000
    assert output.seconds == pytest.approx(sum(b - a for a, b in stretches))
    assert output.running == pytest.approx(concurrency)
    part = steady_output([r for r in responses if (r.since_phase_s or 0) < 200], concurrency)
    assert part is not None and part.output_tps == pytest.approx(output.output_tps, rel=0.02)


def test_streams_without_gaps_are_one_stretch() -> None:
    assert full_load_spans(streams(5, 3), 3) == [(0.0, 5.0)]
