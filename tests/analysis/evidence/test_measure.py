"""One load's value of each objective, by requests whose times are written here."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from analysis.evidence.loads import (
    build_load_records,
    common_keys,
    decode_tokens,
    has_decoding,
    is_whole,
    number_requests,
)
from analysis.evidence.measure import Measurement, evidence_keys, measure, quantile
from analysis.evidence.objectives import objectives_of, parse_objective
from load_records import Load, LoadPhase, RequestRecord
from reasons import Code, Reason
from tests.analysis.comparison.hand_made import WARMED, load, mark, request, streams
from tests.analysis.comparison.ideal_engine import T0


def measurement_of(
    requests: list[RequestRecord], objective: str, speculates: bool | None = False, **fields: object
) -> Measurement:
    one = replace(load(requests), **fields)  # type: ignore[arg-type]
    requested_objective = parse_objective(objective)
    return measure(one, requested_objective, evidence_keys([one], requested_objective), speculates)


def test_decode_speed_is_geometric_class_mean() -> None:
    """9 tokens in 0.9 s, and 9 + 9 tokens in 0.9 + 3.6 s: 10 and 4 tok/s."""
    code = [request(0)]
    chat = [request(1, prompt_class="Q&A"), request(2, prompt_class="Q&A", decode_ms=3600.0)]
    measurement = measurement_of([*code, *chat], "decode_tps")
    assert measurement.values_by_class == pytest.approx({"Code": 10.0, "Q&A": 4.0})
    assert measurement.value == pytest.approx(math.sqrt(40.0))
    assert (
        measurement.reason is None
        and measurement.factors is None
        and measurement.no_factors == Reason(Code.NO_COUNTERS_BETWEEN)
    )


def test_decode_speed_of_one_and_shared_streams() -> None:
    four = [replace(r, phase_index=2, decode_ms=90.0) for r in streams(1, 4)]
    assert measurement_of([request(0), *four], "decode_tps").value == pytest.approx(10.0)
    failed = request(1, error_kind="http", decode_ms=90.0)
    assert measurement_of([request(0), failed], "decode_tps").value == pytest.approx(10.0)
    assert measurement_of(four, "decode_tps").reason == Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": 1})


def test_the_first_piece_may_hold_several_tokens() -> None:
    measurement = measurement_of([request(0, extra={"first_chunk_tokens": 4})], "decode_tps")
    assert measurement.value == pytest.approx(6 / 0.9)
    assert (
        decode_tokens(request(0, extra={})) == 9 and decode_tokens(request(0, extra={}, completion_tokens=None)) == -1
    )


def test_one_token_has_no_decoding() -> None:
    response = request(0, completion_tokens=1, decode_ms=900.0)
    assert has_decoding(request(0, completion_tokens=2))
    assert is_whole(response) and not has_decoding(response)
    assert measurement_of([response], "decode_tps").reason == Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": 1})
    assert measurement_of([response, request(1)], "decode_tps").value == pytest.approx(10.0)
    assert (
        measurement_of([response], "tpot_ms@1").value is None and measurement_of([response], "ttft_ms@1").value == 100.0
    )


@pytest.mark.parametrize("name", ["ttft_ms", "total_ms", "completion_tokens"])
@pytest.mark.parametrize("value", [None, 0, -1.0, math.nan, math.inf])
def test_request_needs_positive_numbers(name: str, value: float | None) -> None:
    assert not is_whole(request(0, **{name: value}))
    assert measurement_of([request(0, **{name: value})], "decode_tps").value is None


@pytest.mark.parametrize("value", [None, 0.0, -1.0, math.nan, math.inf])
def test_a_time_of_decoding_is_positive(value: float | None) -> None:
    assert not has_decoding(request(0, decode_ms=value)) and has_decoding(request(0))


def test_stream_factors_multiply_to_its_speed() -> None:
    """Two classes, each its segment: 9 decode tokens in 3 steps and in 9 steps."""
    responses = [request(0), request(1, prompt_class="Q&A", segment=1)]
    marks = [mark(0, 100.0, inter_token_count=50.0), mark(1, 110.0, inter_token_count=53.0)]
    marks.append(mark(2, 120.0, inter_token_count=62.0))
    measurement = measurement_of(responses, "decode_tps", None, counters=tuple(marks))
    code, chat = measurement.factors_by_class["Code"], measurement.factors_by_class["Q&A"]
    assert (code.tokens_per_step, code.steps_per_s) == pytest.approx((3.0, 3 / 0.9))
    assert (chat.tokens_per_step, chat.steps_per_s) == pytest.approx((1.0, 10.0))
    assert measurement.factors is not None and measurement.factors.running is None and measurement.no_factors is None
    assert measurement.factors.tokens_per_step == pytest.approx(math.sqrt(3.0))
    assert measurement.factors.tokens_per_step * measurement.factors.steps_per_s == pytest.approx(measurement.value)


def test_factors_of_some_classes_ignore_the_rest() -> None:
    responses = [request(0), request(1, prompt_class="Q&A", segment=1)]
    marks = (mark(0, 100.0, inter_token_count=50.0), mark(1, 110.0, inter_token_count=53.0))
    measurement = measurement_of(responses, "decode_tps", None, counters=marks)
    assert list(measurement.factors_by_class) == ["Code"] and measurement.factors is None
    assert measurement.no_factors == Reason(Code.NO_COUNTERS_BETWEEN)


def test_output_rate_spans_a_concurrencys_phases() -> None:
    """Two phases of two streams: 20 tok/s for 2 s, and half of that for 4 s."""
    first = streams(2, 2)
    slow = {"ttft_ms": 200.0, "decode_ms": 1800.0, "total_ms": 2000.0}
    second = [replace(r, phase_index=2, since_phase_s=2 * (r.since_phase_s or 0), **slow) for r in streams(2, 2)]
    other = [replace(r, phase_index=3) for r in streams(1, 4)]
    measurement = measurement_of([*first, *second, *other], "output_tps@2")
    assert measurement.value == pytest.approx((40 + 40) / 6) and measurement.steady_s == pytest.approx(6.0)
    assert measurement.prefill_share == pytest.approx(0.1)
    assert measurement.factors is None and measurement.no_factors == Reason(Code.NO_COUNTERS_BETWEEN)


def test_prefill_share_weighs_phases_by_length() -> None:
    slow = {"ttft_ms": 1500.0, "decode_ms": 1500.0, "total_ms": 3000.0}
    second = [replace(r, phase_index=2, **slow) for r in streams(1, 2)]
    measurement = measurement_of([*streams(1, 2), *second], "output_tps@2")
    assert measurement.prefill_share == pytest.approx((0.1 * 1 + 0.5 * 3) / 4)


def test_output_rate_with_its_factors() -> None:
    """36 tokens in 16 request-steps over 2 s of two streams; of the phase's 10 s the others are none of it."""
    requested_streams = streams(2, 2)
    before = mark(0, 0.0, inter_token_count=0.0, first_tokens=0.0)
    one = load(requested_streams, (before, mark(1, 40.0, inter_token_count=16.0, first_tokens=4.0)))
    measurement = measure(one, parse_objective("output_tps@2"), frozenset(), None)
    assert measurement.factors is not None and measurement.no_factors is None
    assert measurement.factors == pytest.approx((2.25, 16 / 3.6, 2.0, 1.0, None))


def test_without_full_load_there_is_no_rate() -> None:
    measurement = measurement_of([request(0, concurrency=4)], "output_tps@4")
    assert measurement.value is None and measurement.reason == Reason(Code.NO_STEADY_PART, values={"concurrency": 4})


def test_medians_of_times() -> None:
    responses = [request(n, ttft_ms=t, decode_ms=9 * t, total_ms=20 * t) for n, t in enumerate((10.0, 20.0, 60.0))]
    assert measurement_of(responses, "ttft_ms@1").value == 20.0
    assert measurement_of(responses, "tpot_ms@1").value == 20.0
    assert measurement_of(responses, "e2e_ms@1").value == 400.0
    assert measurement_of(responses, "ttft_ms@2").reason == Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": 2})


def test_tails_take_a_hundred_requests() -> None:
    responses = [request(n, ttft_ms=1.0 + n, decode_ms=9.0 * (1 + n), total_ms=20.0 * (1 + n)) for n in range(100)]
    p95 = 1 + 0.95 * 99
    assert measurement_of(responses, "ttft_p95_ms@1").value == pytest.approx(p95)
    assert measurement_of(responses, "tpot_p95_ms@1").value == pytest.approx(p95)
    assert measurement_of(responses, "e2e_p95_ms@1").value == pytest.approx(20 * p95)
    few = measurement_of(responses[:99], "ttft_p95_ms@1")
    assert few.value is None and few.reason == Reason(Code.TOO_FEW_REQUESTS, values={"requests": 99, "fewest": 100})


def test_quantile() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([1.0, 2.0], 0.95) == pytest.approx(1.95)
    assert quantile([7.0], 0.95) == 7.0 and quantile([1.0, 5.0], 1.0) == 5.0


def test_work_is_phase_length_without_pauses() -> None:
    def phase(index: int, **fields: object) -> LoadPhase:
        whole = {"kind": "measure", "concurrency": 1, "duration_s": 10.0, "paused_s": 0.0, "is_complete": True}
        return LoadPhase("r", "l", T0, index, "p", began_at=T0, planned_requests=1, **(whole | fields))  # type: ignore[arg-type]

    phases = (phase(0, kind="warmup"), phase(1, paused_s=4.0), phase(2, concurrency=2), phase(3))
    assert measurement_of([request(0)], "work_s@1", phases=phases).value == 16.0
    broken = (phase(0), phase(1, is_complete=False))
    assert measurement_of([request(0)], "work_s@1", phases=broken).reason == Reason(Code.PHASE_NOT_ENDED)
    assert measurement_of([request(0)], "work_s@8", phases=phases).reason == Reason(Code.PHASE_NOT_ENDED)


def test_loads_in_the_order_in_which_they_began() -> None:
    def load_at(load_id: str, minute: int) -> Load:
        return Load("r", load_id, T0.replace(minute=minute), "pitwall", "w")

    phases = [LoadPhase("r", "a", T0, n, "p", "measure", 1, T0, 1.0, 0.0, 1, True) for n in (1, 0)]
    requests = [request(0, load_id="b"), request(1, load_id=None), request(2, load_id="a")]
    marks = [replace(mark(0), load_id="a"), replace(mark(1), load_id="b")]
    load_records = build_load_records("r", [load_at("b", 9), load_at("a", 5)], phases, requests, marks)
    assert [load_record.load_id for load_record in load_records] == ["a", "b", None] and {
        load_record.run_id for load_record in load_records
    } == {"r"}
    assert [p.phase_index for p in load_records[0].phases] == [0, 1]
    assert [[r.request_id for r in load_record.requests] for load_record in load_records] == [
        ["q2-1"],
        ["q0-1"],
        ["q1-1"],
    ]
    assert [load_record.counters for load_record in load_records] == [(marks[0],), (marks[1],), ()]
    assert load_records[2].plan is None and load_records[0].plan is not None


def test_a_load_that_was_recorded_twice_is_one() -> None:
    load = Load("r", "l", T0, "pitwall", "w")
    (load_record,) = build_load_records("r", [load, replace(load, ts=T0.replace(minute=9))], [], [request(0)], [])
    assert len(load_record.measured) == 1


def test_older_load_requests_placed_by_order() -> None:
    """Two phases one after the other; the clock of the wall tells the order."""
    bare = dict.fromkeys(("phase_index", "sequence", "since_phase_s"))
    old = [request(n, float(n), 1 if n < 2 else 4, **bare) for n in (3, 1, 0, 2)]
    placed = [(r.request_id, r.phase_index, r.sequence, r.since_phase_s) for r in number_requests(old)]
    assert placed == [("q0-1", 0, 0, 0.0), ("q1-1", 0, 1, 1.0), ("q2-4", 1, 0, 0.0), ("q3-4", 1, 1, 1.0)]
    titled = [request(n, float(n), extra={"phase_title": f"phase {n // 2}"}, **bare) for n in range(4)]
    assert [r.phase_index for r in number_requests(titled)] == [0, 0, 1, 1]
    new = [request(1, 1.0), request(0, 0.0)]
    assert number_requests(new) == [new[1], new[0]]


def test_a_step_of_the_clock_moves_no_request() -> None:
    """sent_at goes back an hour between two requests; places and times are of the monotonic clock."""
    requested_streams = streams(4)
    stepped = [replace(r, sent_at=r.sent_at.replace(hour=11)) if n > 1 else r for n, r in enumerate(requested_streams)]
    for objective in ("decode_tps", "output_tps@1", "ttft_ms@1"):
        assert measurement_of(stepped, objective).value == pytest.approx(
            measurement_of(requested_streams, objective).value
        )


def test_what_of_a_load_is_evidence() -> None:
    one = load([request(0), request(1, concurrency=4), request(2, error_kind="http")], planned_requests=5)
    assert WARMED in one.requests and len(one.measured) == 3
    assert one.concurrencies == [1, 4] and one.unsent == 2
    assert load([request(0)], planned_requests=None).unsent is None
    assert load([request(0), request(1)], planned_requests=1).unsent == 0
    assert load([], planned_requests=5).unsent == 5
    totals_only = replace(load([], planned_requests=5, source_name="totals.json"), requests=())
    assert totals_only.unsent is None and totals_only.is_complete, "its file states totals and lists no request"
    assert common_keys([]) == frozenset()
    assert len(common_keys([one])) == 2 and len(common_keys([one, load([request(0)])])) == 1


def test_what_a_load_can_be_compared_by() -> None:
    def names(*requests: RequestRecord) -> list[str]:
        return [objective.name for objective in objectives_of([load(requests)])]

    classes = [request(0), request(1, prompt_class="Q&A")]
    both = names(*classes, *streams(1, 2), *streams(1, 4))
    assert both[:3] == ["decode_tps", "output_tps@4", "output_tps@2"]
    assert both[3:6] == ["ttft_ms@1", "tpot_ms@1", "e2e_ms@1"] and both[-2:] == ["tokens_per_j", "startup_s"]
    assert both[-5:-2] == ["work_s@1", "work_s@2", "work_s@4"]
    assert names(*streams(1), *streams(1, 4))[:2] == ["output_tps@4", "decode_tps"]
    assert names(*streams(1, 2), *streams(1, 4))[:2] == ["output_tps@4", "output_tps@2"]
    ladder = names(*streams(1), *streams(1, 2), *streams(1, 4))
    assert ladder[:3] == ["output_tps@4", "output_tps@2", "decode_tps"]
    assert names(*streams(1, 4))[0] == "output_tps@4" and names(*streams(1))[0] == "decode_tps"
    assert "ttft_p95_ms@1" in names(*streams(100)) and "ttft_p95_ms@1" not in names(*streams(99))
    assert [o.name for o in objectives_of([])] == ["tokens_per_j", "startup_s"]
    shared = objectives_of([load([*streams(1), *streams(1, 4)]), load(streams(1))])
    assert "output_tps@4" not in [one.name for one in shared]
