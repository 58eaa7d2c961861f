"""A speed split by counters that stand here: what they gained, and when they cannot be believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from analysis.evidence.factors import Factors, geometric_mean, phase_factors, stream_factors
from analysis.evidence.loads import LoadRecord
from analysis.reasons import Code, Reason
from samples import LoadCounters, RequestRecord
from tests.comparison.hand_made import load, mark, request, streams

NO_COUNTERS = Reason(Code.NO_COUNTERS_BETWEEN)


def of_stream(
    marks: Sequence[LoadCounters], speculates: bool | None = None, asked: Sequence[RequestRecord] | None = None
) -> Factors | Reason:
    """Of two requests of 10 tokens, 9 of them decoded in 0.9 s."""
    two = list(asked or streams(2))
    return stream_factors(load(two, marks), "Code", speculates, two)


def of_phase(marks: Sequence[LoadCounters], speculates: bool | None = None) -> Factors | Reason:
    """Of two streams with two requests each: 40 tokens, 4 s in flight, in a phase of 10 s."""
    return phase_factors(load(streams(2, 2), marks), 2, speculates)


def test_counted_steps_are_believed() -> None:
    marks = [mark(0, 5.0, inter_token_count=1.0), mark(1, 25.0, inter_token_count=7.0)]
    found = of_stream(marks)
    assert isinstance(found, Factors) and found.running is None
    assert (found.tokens_per_step, found.steps_per_s) == pytest.approx((18 / 6, 6 / 1.8))


def test_without_a_count_of_steps_they_are_tokens_less_accepted_ones() -> None:
    """20 tokens less 12 accepted are 8 steps, two of which gave the first tokens."""
    found = of_stream([mark(0, 5.0, accepted_tokens=3.0), mark(1, 25.0, accepted_tokens=15.0)])
    assert isinstance(found, Factors)
    assert (found.tokens_per_step, found.steps_per_s) == pytest.approx((18 / 6, 6 / 1.8))


def test_without_speculation_each_token_is_a_step() -> None:
    marks = [mark(0, 5.0), mark(1, 25.0)]
    found = of_stream(marks, speculates=False)
    assert isinstance(found, Factors) and (found.tokens_per_step, found.steps_per_s) == pytest.approx((1.0, 10.0))
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


def test_the_factors_of_a_phase_multiply_to_its_rate() -> None:
    """16 steps after first tokens and 4 of these; with the accepted ones alone 40 - 20 steps."""
    counted = of_phase(
        [mark(0, 5.0, inter_token_count=0.0, first_tokens=0.0), mark(1, 45.0, inter_token_count=16.0, first_tokens=4.0)]
    )
    accepted = of_phase([mark(0, 5.0, accepted_tokens=1.0), mark(1, 45.0, accepted_tokens=21.0)])
    assert counted == accepted == Factors(2.0, 5.0, 0.4)
    assert math.prod(counted) == pytest.approx(40 / 10)  # type: ignore[arg-type]
    assert of_phase([mark(0, 5.0), mark(1, 45.0)], speculates=False) == Factors(1.0, 10.0, 0.4)


def test_a_pause_is_no_time_of_a_phase() -> None:
    one = load(streams(2, 2), [mark(0, 5.0), mark(1, 45.0)])
    paused = replace(one, phases=(replace(one.phases[0], paused_s=5.0),))
    assert phase_factors(paused, 2, False) == Factors(1.0, 10.0, 0.8)
    never = replace(one, phases=(replace(one.phases[0], paused_s=10.0),))
    assert phase_factors(never, 2, False) == Reason(Code.PHASE_NOT_ENDED)
    assert phase_factors(replace(one, phases=()), 2, False) == Reason(Code.PHASE_NOT_ENDED)


def test_phases_of_another_kind_or_concurrency_do_not_count() -> None:
    one = load(streams(2, 2), [mark(0, 5.0), mark(1, 45.0)])
    phase = one.phases[0]
    more = replace(one, phases=(phase, replace(phase, kind="warmup"), replace(phase, concurrency=1)))
    assert phase_factors(more, 2, False) == Factors(1.0, 10.0, 0.4)


def test_a_class_of_which_requests_are_left_out_has_no_factors() -> None:
    two = streams(2)
    marks = [mark(0, 5.0), mark(1, 25.0)]
    assert stream_factors(load(two, marks), "Code", False, two[:1]) == Reason(Code.REQUESTS_LEFT_OUT)
    others = [*two, request(5, prompt_class="Q&A", segment=1), replace(request(6, concurrency=4), segment=1)]
    assert isinstance(stream_factors(load(others, marks), "Code", False, two), Factors)


@pytest.mark.parametrize(
    ("gained", "is_told"), [(20.0, True), (20.4, True), (19.6, True), (20.5, False), (19.5, False)]
)
def test_counters_and_client_agree_within_two_percent(gained: float, is_told: bool) -> None:
    found = of_stream([mark(0, 5.0), mark(1, 5.0 + gained)], speculates=False)
    if is_told:
        assert isinstance(found, Factors)
    else:
        assert found == Reason(Code.COUNTERS_DISAGREE, values={"client": 20, "counters": pytest.approx(gained)})


def test_a_counter_that_appears_began_at_zero() -> None:
    found = of_stream([mark(0), mark(1, 20.0)], speculates=False)
    assert isinstance(found, Factors)


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
def test_counters_that_were_not_read_or_began_anew_tell_nothing(marks: tuple[LoadCounters, ...]) -> None:
    assert of_stream(marks, speculates=False) == NO_COUNTERS


def test_a_step_counter_of_nan_is_none() -> None:
    """Scraped from a server that printed it: it once became a speed of NaN, and a crash."""
    marks = [mark(0, 5.0, inter_token_count=0.0), mark(1, 25.0, inter_token_count=math.nan)]
    assert of_stream(marks) == Reason(Code.NO_STEP_COUNTER)


def test_ranks_are_summed() -> None:
    marks = [mark(0, 0.0), mark(0, 7.0, rank=1), mark(1, 8.0), mark(1, 19.0, rank=1)]
    assert isinstance(of_stream(marks, speculates=False), Factors)
    one_silent = [mark(0, 0.0), mark(0, rank=1), mark(1, 20.0), mark(1, rank=1)]
    assert of_stream(one_silent, speculates=False) == NO_COUNTERS


def test_requests_in_two_segments_take_both() -> None:
    asked = [request(0), request(1, 1.0, segment=2)]
    marks = [mark(0, 0.0), mark(1, 10.0), mark(2, 500.0), mark(3, 510.0)]
    found = of_stream(marks, speculates=False, asked=asked)
    assert isinstance(found, Factors)
    reset = [mark(0, 0.0), mark(1, 10.0), mark(2, 0.0), mark(3, 10.0)]
    assert of_stream(reset, speculates=False, asked=asked) == found, "between segments a server may begin anew"
    assert of_stream(marks[:3], speculates=False, asked=asked) == NO_COUNTERS
    nowhere = [request(0), request(1, 1.0, segment=None)]
    assert of_stream(marks, speculates=False, asked=nowhere) == NO_COUNTERS


def test_answers_without_tokens_are_nothing_to_split() -> None:
    empty = [replace(r, completion_tokens=None) for r in streams(2)]
    assert of_stream([mark(0, 5.0), mark(1, 25.0)], speculates=False, asked=empty) == NO_COUNTERS
    assert phase_factors(load([request(0)], [mark(0), mark(1)]), 1, False) == NO_COUNTERS
    nobody = LoadRecord("r", "l", phases=load(streams(2, 2)).phases)
    assert phase_factors(nobody, 2, False) == NO_COUNTERS


def test_geometric_mean() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0) and geometric_mean([3.0]) == pytest.approx(3.0)
