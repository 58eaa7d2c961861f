"""Records that a terminal wrapped at its width are read like whole ones."""

from __future__ import annotations

import pytest

from engines import BY_NAME
from engines.base import ParsedSample
from engines.line_filter import LineFilter

LOGS = {
    "vllm": (
        "(APIServer pid=1) INFO 05-20 01:43:25 [loggers.py:259] Engine 000: Avg prompt throughput: 40.7 tokens/s, "
        "Avg generation throughput: 104.5 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%, "
        "Prefix cache hit rate: 12.0%\n"
        "(APIServer pid=1) INFO 05-20 01:43:25 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.50, "
        "Accepted throughput: 10.00 tokens/s, Drafted throughput: 20.00 tokens/s, Accepted: 100 tokens, Drafted: 200 "
        "tokens, Per-position acceptance rate: 0.700, 0.500, 0.300, Avg Draft acceptance rate: 50.0%\n"
    ),
    "trtllm": (
        "[08/04/2026-19:08:13] [TRT-LLM] [I] [_torch][RANK 0] iter = 8, global_rank = 0, rank = 0, "
        "num_scheduled_requests = 4, kv_cache_util = 0.125, currank_total_requests = 1/8, host_step_time = 7.4ms, "
        "prev_device_step_time = 7.1ms, timestamp = 2026-08-04 19:08:13, states = {'num_ctx_requests': 1, "
        "'num_ctx_tokens': 4096, 'num_generation_tokens': 3}, num_active = 14\n"
    ),
}
# A remainder without a key cannot be told from other text.
MAY_BE_LOST = {"draft_accept_rate_pct", "prefix_cache_hit_pct", "spec_line"}


def wrap(text: str, columns: int) -> str:
    """The text as a terminal of this width shows it."""
    lines = (line[start : start + columns] for line in text.splitlines() for start in range(0, len(line), columns))
    return "".join(f"{line}\n" for line in lines)


def kept_fields(sample: ParsedSample) -> dict[str, object]:
    return {key: value for key, value in sample.fields.items() if key not in MAY_BE_LOST}


@pytest.mark.parametrize("engine", LOGS)
@pytest.mark.parametrize("columns", [80, 100, 120, 132, 152, 160, 200])
def test_a_wrapped_record_is_whole(engine: str, columns: int, read_log, monkeypatch) -> None:
    (whole,) = read_log(engine, LOGS[engine]).samples
    wrapped = read_log(engine, wrap(LOGS[engine], columns))
    (sample,) = wrapped.samples
    assert kept_fields(sample) == kept_fields(whole)
    grammar = BY_NAME[engine].log
    assert grammar
    monkeypatch.setattr(type(grammar.log_parser()), "LINE_FILTER", LineFilter())
    assert read_log(engine, wrap(LOGS[engine], columns)).events == wrapped.events


@pytest.mark.parametrize("engine", LOGS)
def test_half_a_record_waits_for_its_rest(engine: str) -> None:
    grammar = BY_NAME[engine].log
    assert grammar
    parser, (head, *_) = grammar.log_parser(), wrap(LOGS[engine], 120).splitlines(keepends=True)
    assert parser.feed(head.encode()) == []
    assert parser.settled_offset() == 0
    parser.release_held()
    assert parser.settled_offset() == len(head)
