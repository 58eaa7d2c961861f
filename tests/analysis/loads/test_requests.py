"""Rates of requests, on numbers that can be checked by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from analysis.loads.requests import (
    acceptance_rate,
    aggregates,
    class_summaries,
    decode_tps,
    end_to_end_tps,
    tokens_per_step,
    total_tps,
    useful_tps,
)
from load_records import RequestRecord
from reasons import Code, Reason

START = datetime(2026, 5, 7, 0, 16, tzinfo=UTC)
RECORD = RequestRecord(
    run_id="r", request_id="1", workload="five-prompts", phase="measure", prompt_class="Code", stream=0, concurrency=4,
    sent_at=START, ttft_ms=200.0, decode_ms=1800.0, total_ms=2000.0, completion_tokens=91,
)  # fmt: skip

# What a person printed after a run of four parallel requests (the same source's 122.7 is the sum of the four rates).
PRINTED = """\
[req1 ] 1024 tokens = 30.3 tok/s (end-to-end)
[req2 ] 1024 tokens = 31.3 tok/s (end-to-end)
[req3 ] 1024 tokens = 29.6 tok/s (end-to-end)
[req4 ] 1024 tokens = 31.5 tok/s (end-to-end)
Total: 4096 tokens in 34.59s
Total throughput: 118.3 tok/s (4 requests completed)
"""


def printed_records() -> list[RequestRecord]:
    matches = re.findall(r"(\d+) tokens = ([\d.]+) tok/s", PRINTED)
    return [
        replace(RECORD, completion_tokens=int(tokens), total_ms=int(tokens) / float(rate) * 1000)
        for tokens, rate in matches
    ]


def test_published_block_gives_both_aggregates() -> None:
    actual_aggregates = aggregates(printed_records())
    assert actual_aggregates.sum_of_rates_tps == pytest.approx(122.7, abs=0.05)
    assert actual_aggregates.wall_s == pytest.approx(34.59, abs=0.01)
    assert actual_aggregates.wall_tps == pytest.approx(
        118.3, abs=0.15
    )  # 4096 / 34.59 is 118.4: the block prints 0.1 less
    assert (actual_aggregates.requests, actual_aggregates.tokens, actual_aggregates.left_out) == (4, 4096, 0)


def test_failed_requests_are_counted_not_rated() -> None:
    failed = replace(RECORD, error_kind="stalled", sent_at=START - timedelta(seconds=50))
    uncounted = replace(RECORD, completion_tokens=None)
    actual_aggregates = aggregates([RECORD, failed, uncounted])
    assert (actual_aggregates.requests, actual_aggregates.left_out, actual_aggregates.wall_tps) == (1, 2, 45.5)


def test_nothing_to_rate_is_unknown_with_a_reason() -> None:
    actual_aggregates = aggregates([replace(RECORD, error_kind="refused", completion_tokens=None)])
    assert (actual_aggregates.wall_tps, actual_aggregates.sum_of_rates_tps, actual_aggregates.left_out) == (
        None,
        None,
        1,
    )
    assert actual_aggregates.reason == Reason(Code.NO_REQUEST_COUNTED)


def test_total_speed_counts_prompts_too() -> None:
    prompted = replace(RECORD, prompt_tokens=9)
    assert total_tps([prompted]) == 50.0
    later = replace(prompted, sent_at=START + timedelta(seconds=2))
    failed = replace(prompted, error_kind="stalled", total_ms=90_000.0)
    assert total_tps([prompted, later, failed]) == 50.0  # 200 tokens in the 4 s from the first sent to the last ended
    assert total_tps([prompted, RECORD]) is None and total_tps([failed]) is None


def test_decode_leaves_the_first_chunk_out() -> None:
    assert end_to_end_tps(RECORD) == 45.5
    assert decode_tps(RECORD) == pytest.approx(50.0)
    assert decode_tps(replace(RECORD, extra={"first_chunk_tokens": 10})) == pytest.approx(45.0)
    assert decode_tps(replace(RECORD, decode_ms=0.0)) is None


def test_tokens_per_step_equals_accepted_identity() -> None:
    drafted = replace(RECORD, draft_tokens=120, accepted_tokens=60)
    assert tokens_per_step(drafted) == 3.0  # 90 decoded tokens in 90 - 60 steps
    assert acceptance_rate(drafted) == 0.5
    assert tokens_per_step(RECORD) is None
    assert acceptance_rate(RECORD) is None
    assert acceptance_rate(replace(RECORD, draft_tokens=0, accepted_tokens=0)) is None


def test_useful_speed_leaves_loops_out() -> None:
    assert useful_tps(replace(RECORD, extra={"collapse": {"looped_ratio": 0.2}})) == pytest.approx(36.4)
    assert useful_tps(RECORD) is None


def test_class_summary_is_median_of_successes() -> None:
    looping = {"collapse": {"verdict": "collapsed", "looped_ratio": 0.5}}
    slower = replace(RECORD, total_ms=4000.0, decode_ms=3600.0, ttft_ms=400.0, extra=looping)
    failed = replace(RECORD, error_kind="stalled", completion_tokens=10, ttft_ms=9000.0)
    warm_up = replace(RECORD, phase="warmup", ttft_ms=1.0)
    alone = replace(RECORD, concurrency=1, draft_tokens=120, accepted_tokens=60)
    together, single = class_summaries([warm_up, RECORD, slower, failed, alone])
    assert (together.prompt_class, together.concurrency, together.requests, together.failed) == ("Code", 4, 3, 1)
    assert together.looping == 1
    assert (together.decode_tps, together.end_to_end_tps, together.ttft_ms) == (37.5, 34.125, 300.0)
    assert (together.tokens_per_step, together.acceptance_rate) == (None, None)
    assert (single.tokens_per_step, single.acceptance_rate, single.looping) == (3.0, 0.5, 0)


def test_class_without_success_has_no_speeds() -> None:
    (row,) = class_summaries([replace(RECORD, error_kind="refused", completion_tokens=None)])
    assert (row.failed, row.decode_tps, row.ttft_ms) == (1, None, None)
