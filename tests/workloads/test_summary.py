"""The text summary: every measured request is a line, and nothing unknown becomes a number."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from load_records import RequestRecord
from workloads.process.summary import summary

RECORD = RequestRecord(
    run_id="run-1", request_id="1", workload="five-prompts", phase="measure", prompt_class="Code", stream=0,
    concurrency=1, sent_at=datetime(2026, 5, 7, tzinfo=UTC), ttft_ms=200.0, decode_ms=1800.0, total_ms=2000.0,
    completion_tokens=91, extra={"phase_title": "Run 1/1"},
)  # fmt: skip


def lines_of(*records: RequestRecord) -> list[str]:
    return summary(records).splitlines()


def test_a_request_is_a_line_with_both_its_speeds() -> None:
    warm_up = replace(RECORD, phase="warmup", prompt_class="Q&A")
    printed = lines_of(warm_up, RECORD)
    assert printed[0] == "five-prompts · run run-1 · 1 requests, 0 failed"
    assert (
        "[Code       ]    91 tokens in   2.00 s =   45.5 tok/s end to end, decode 50.0, first token 200 ms" in printed
    )
    assert "Code         x1   decode 50.0 tok/s, end to end 45.5, first token 200 ms" in printed
    assert not any("Q&A" in line for line in printed)


def test_failures_and_uncounted_tokens_are_said() -> None:
    failed = replace(RECORD, error_kind="stalled", error_text="no event for 300 s, after 4 chunks")
    printed = lines_of(failed, replace(RECORD, completion_tokens=None))
    assert "[Code       ] failed after 2.00 s (stalled): no event for 300 s, after 4 chunks" in printed
    assert "[Code       ]    ? tokens in   2.00 s: the server did not count them" in printed
    assert "Code         x1   decode ? tok/s, end to end ?, first token 200 ms, 1 of 2 failed" in printed


def test_a_loop_is_said_beside_the_speed() -> None:
    collapse = {"verdict": "collapsed", "looped_ratio": 0.4, "onset_word": 30}
    printed = "\n".join(lines_of(replace(RECORD, extra=RECORD.extra | {"collapse": collapse})))
    assert "(fast but looping: 40% of the text, from word 30)" in printed
    assert "1 looping, useful 27.3 tok/s" in printed


def test_parallel_requests_get_both_aggregates() -> None:
    pair = [replace(RECORD, concurrency=2), replace(RECORD, concurrency=2, total_ms=4000.0)]
    printed = lines_of(*pair)
    assert "Together: 182 tokens of 2 requests in 4.00 s" in printed
    assert "  tokens over wall time     45.5 tok/s" in printed
    assert "  sum of request rates      68.2 tok/s" in printed
    refused = [replace(one, error_kind="refused", completion_tokens=None) for one in pair]
    assert "Together: unknown, no request ended with its tokens counted" in lines_of(*refused)


def test_no_request_is_said_so() -> None:
    assert summary([]) == "No measured request."
