"""A speed split by counters that stand here: what they gained, and when they cannot be believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from analysis.evidence.factors import SpeedFactors, geometric_mean, steady_factors, stream_factors
from analysis.evidence.loads import LoadRecord, QueueReading
from analysis.evidence.steady import steady_output
from load_records import LoadCounters, RequestRecord
from reasons import Code, Reason
from tests.analysis.comparison.hand_made import load, mark, request, streams

NO_COUNTERS = Reason(Code.NO_COUNTERS_BETWEEN)
NO_DRAFTS = pytest.approx((1.0, 10.0, 2.0, 1.0, None))


def of_stream(
    marks: Sequence[LoadCounters], speculates: bool | None = None, asked: Sequence[RequestRecord] | None = None
) -> SpeedFactors | Reason:
    """The factors of two requests of 10 tokens, 9 of them decoded in 0.9 s."""
    two = list(asked or streams(2))
    return stream_factors(load(two, marks), "Code", speculates, two)


def of_load(load: LoadRecord, speculates: bool | None = None) -> SpeedFactors | Reason:
    """The steady factors of two streams."""
    steady = steady_output([r for r in load.measured if r.concurrency == 2], 2)
    assert steady
    return steady_factors(load, 2, speculates, steady)


def of_phase(marks: Sequence[LoadCounters], speculates: bool | None = None) -> SpeedFactors | Reason:
    """The factors of two streams with two requests each: 40 tokens in 2 s, in a phase of 10 s."""
    return of_load(load(streams(2, 2), marks), speculates)


def test_counted_steps_are_believed() -> None:
    marks = [mark(0, 5.0, inter_token_count=1.0), mark(1, 25.0, inter_token_count=7.0)]
    found = of_stream(marks)
    assert isinstance(found, SpeedFactors) and found.running is None
    assert (found.tokens_per_step, found.steps_per_s) == pytest.approx((18 / 6, 6 / 1.8))


def test_steps_are_tokens_less_accepted() -> None:
    """20 tokens less 12 accepted are 8 steps, two of which gave the first tokens."""
    found = of_stream([mark(0, 5.0, accepted_tokens=3.0), mark(1, 25.0, accepted_tokens=15.0)])
    assert isinstance(found, SpeedFactors)
    assert (found.tokens_per_step, found.steps_per_s) == pytest.approx((18 / 6, 6 / 1.8))


def test_without_speculation_each_token_is_a_step() -> None:
    marks = [mark(0, 5.0), mark(1, 25.0)]
    found = of_stream(marks, speculates=False)
    assert isinstance(found, SpeedFactors) and (found.tokens_per_step, found.steps_per_s) == pytest.approx((1.0, 10.0))
    for unknown in (None, True):
        assert of_stream(marks, speculates=unknown) == Reason(Code.NO_STEP_COUNTER)
        assert of_phase([mark(0, 5.0), mark(1, 45.0)], speculates=unknown) == Reason(Code.NO_STEP_COUNTER)


def test_counters_that_leave_no_step_tell_nothing() -> None:
    assert of_stream([mark(0, 5.0, accepted_tokens=0.0), mark(1, 25.0, accepted_tokens=18.0)]) == Reason(
        Code.NO_STEP_COUNTED
    )
    assert of_phase([mark(0, 5.0, accepted_tokens=0.0), mark(1, 45.0, accepted_tokens=40.0)]) == Reason(
        Code.NO_STEP_COUNTED
    )


def test_steady_factors_multiply_to_the_rate() -> None:
    """16 steps for 36 tokens after the 4 first ones, in 3.6 of the 4 s that the requests took."""
    counted = of_phase(
        [mark(0, 5.0, inter_token_count=0.0, first_tokens=0.0), mark(1, 45.0, inter_token_count=16.0, first_tokens=4.0)]
    )
    accepted = of_phase([mark(0, 5.0, accepted_tokens=1.0), mark(1, 45.0, accepted_tokens=21.0)])
    assert counted == accepted == pytest.approx((2.25, 16 / 3.6, 2.0, 1.0, None))
    assert isinstance(counted, SpeedFactors)
    assert math.prod(value for value in counted if value is not None) == pytest.approx(40 / 2)
    assert of_phase([mark(0, 5.0), mark(1, 45.0)], speculates=False) == NO_DRAFTS


def test_time_before_first_tokens_is_a_factor() -> None:
    """Prefill of half a second: 18 tokens a second decoding, of which a stream gives 10."""
    slow = {"ttft_ms": 500.0, "decode_ms": 500.0}
    chunks = {"chunk_us": [500_000] + [55_555] * 9, "chunk_tokens": [1] * 10}
    found = of_load(load(streams(2, 2, **slow, **chunks), [mark(0, 5.0), mark(1, 45.0)]), False)
    assert isinstance(found, SpeedFactors) and found.queueing is None
    assert found[:4] == pytest.approx((1.0, 18.0, 2.0, 10 / 18), rel=1e-3)


def test_queue_is_a_factor_of_its_own() -> None:
    """By the readings under full load 1 of 2 requests runs: what is left of the wait is prefill."""
    one = load(streams(2, 2, ttft_ms=500.0, decode_ms=500.0), [mark(0, 5.0), mark(1, 45.0)])
    alone = of_load(one, False)
    readings = [QueueReading(0, 0.5, 9.0, 0.0), *(QueueReading(1, at_s, 1.0, 1.0) for at_s in (0.5, 1.5))]
    queued = of_load(
        replace(one, queue=(*readings, QueueReading(1, 5.0, 2.0, 0.0), QueueReading(1, 1.0, None, 0.0))), False
    )
    assert isinstance(alone, SpeedFactors) and isinstance(queued, SpeedFactors)
    assert queued.queueing == 0.5 and queued.decoding == pytest.approx(2 * (alone.decoding or 0.0))
    assert queued.without_queue == pytest.approx(alone) and alone.without_queue is alone
    assert of_load(replace(one, queue=(QueueReading(1, 0.5, 0.0, 2.0),)), False) == alone, "nothing ran"


def test_answers_of_one_chunk_have_no_steps() -> None:
    whole = streams(2, 2, chunk_us=[1_000_000], chunk_tokens=[10])
    assert of_load(load(whole, [mark(0, 5.0), mark(1, 45.0)]), False) == Reason(Code.NO_STEP_COUNTED)


def test_ended_phase_matches_kind_and_concurrency() -> None:
    one = load(streams(2, 2), [mark(0, 5.0), mark(1, 45.0)])
    phase = one.phases[0]
    others = replace(one, phases=(replace(phase, kind="warmup"), replace(phase, concurrency=1)))
    for never in (others, replace(one, phases=())):
        assert of_load(never, False) == Reason(Code.PHASE_NOT_ENDED)
    assert of_load(replace(one, phases=(*others.phases, phase)), False) == NO_DRAFTS


def test_steady_part_gets_its_share_of_steps() -> None:
    """One answer of 8 pieces in 4 s beside a short one of 2 that ends after a second: 2 of 8 later pieces."""
    long = request(0, 0.0, 2, total_ms=4000.0, completion_tokens=22, chunk_us=[500_000] * 8, chunk_tokens=[1] + [3] * 7)
    short = request(1, 0.0, 2, completion_tokens=2, chunk_us=[500_000] * 2, chunk_tokens=[1, 1])
    counted = load([long, short], [mark(0, 0.0, inter_token_count=0.0), mark(1, 24.0, inter_token_count=20.0)])
    assert of_load(counted, True) == pytest.approx((4 / 5, 5 / 1.8, 2.0, 3 / (4 / 1.8), None))
    assert of_load(counted, None) == of_load(counted, True)
    steps = 20 * 4 / 22
    shared = of_load(counted, False)
    assert shared == pytest.approx((4 / steps, steps / 1.8, 2.0, 3 / (4 / 1.8), None)), "the share of tokens"


def test_omitted_requests_leave_class_factorless() -> None:
    two = streams(2)
    marks = [mark(0, 5.0), mark(1, 25.0)]
    assert stream_factors(load(two, marks), "Code", False, two[:1]) == Reason(Code.REQUESTS_LEFT_OUT)
    others = [*two, request(5, prompt_class="Q&A", segment=1), replace(request(6, concurrency=4), segment=1)]
    assert isinstance(stream_factors(load(others, marks), "Code", False, two), SpeedFactors)


@pytest.mark.parametrize(
    ("gained", "is_told"), [(20.0, True), (20.4, True), (19.6, True), (20.5, False), (19.5, False)]
)
def test_counters_and_client_agree_within_2_pct(gained: float, is_told: bool) -> None:
    found = of_stream([mark(0, 5.0), mark(1, 5.0 + gained)], speculates=False)
    if is_told:
        assert isinstance(found, SpeedFactors)
    else:
        assert found == Reason(Code.COUNTERS_DISAGREE, values={"client": 20, "counters": pytest.approx(gained)})


def test_a_counter_that_appears_began_at_zero() -> None:
    found = of_stream([mark(0), mark(1, 20.0)], speculates=False)
    assert isinstance(found, SpeedFactors)


@pytest.mark.parametrize(
    "marks",
    [
        (),
        (mark(0, 5.0),),
        (mark(1, 25.0),),
        (mark(0, 5.0), mark(2, 25.0)),
        (mark(0, 5.0), mark(1)),
        (mark(0, 50.0), mark(1, 20.0)),
        (mark(0, 5.0, accepted_tokens=9.0), mark(1, 25.0, accepted_tokens=1.0)),
        (mark(0, 5.0), mark(1, 25.0), mark(1, 5.0, rank=1)),
        (mark(0, 5.0), mark(1, math.nan)),
        (mark(0, math.nan), mark(1, 25.0)),
        (mark(0, 5.0), mark(1, math.inf)),
        (mark(0, math.inf), mark(1, math.inf)),
    ],
)
def test_unread_or_reset_counters_give_no_factors(marks: tuple[LoadCounters, ...]) -> None:
    assert of_stream(marks, speculates=False) == NO_COUNTERS


def test_a_step_counter_of_nan_is_none() -> None:
    """Scraped from a server that printed it: it once became a speed of NaN, and a crash."""
    marks = [mark(0, 5.0, inter_token_count=0.0), mark(1, 25.0, inter_token_count=math.nan)]
    assert of_stream(marks) == Reason(Code.NO_STEP_COUNTER)


def test_ranks_are_summed() -> None:
    marks = [mark(0, 0.0), mark(0, 7.0, rank=1), mark(1, 8.0), mark(1, 19.0, rank=1)]
    assert isinstance(of_stream(marks, speculates=False), SpeedFactors)
    one_silent = [mark(0, 0.0), mark(0, rank=1), mark(1, 20.0), mark(1, rank=1)]
    assert of_stream(one_silent, speculates=False) == NO_COUNTERS


def test_requests_in_two_segments_take_both() -> None:
    responses = [request(0), request(1, 1.0, segment=2)]
    marks = [mark(0, 0.0), mark(1, 10.0), mark(2, 500.0), mark(3, 510.0)]
    found = of_stream(marks, speculates=False, asked=responses)
    assert isinstance(found, SpeedFactors)
    reset = [mark(0, 0.0), mark(1, 10.0), mark(2, 0.0), mark(3, 10.0)]
    assert of_stream(reset, speculates=False, asked=responses) == found, "between segments a server may begin anew"
    assert of_stream(marks[:3], speculates=False, asked=responses) == NO_COUNTERS
    nowhere = [request(0), request(1, 1.0, segment=None)]
    assert of_stream(marks, speculates=False, asked=nowhere) == NO_COUNTERS


def test_answers_without_tokens_are_not_split() -> None:
    empty = [replace(r, completion_tokens=None) for r in streams(2)]
    assert of_stream([mark(0, 5.0), mark(1, 25.0)], speculates=False, asked=empty) == NO_COUNTERS
    assert of_phase([mark(0), mark(1)], speculates=False) == NO_COUNTERS


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0) and geometric_mean([3.0]) == pytest.approx(3.0)
