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


MEMORY_FAILURES = (
    "ValueError: To serve at least one request with the model's max seq len (98304), 23.25 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (22.5 GiB). Based on the available memory, the estimated "
    "maximum model length is 95136. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
    "initializing the engine.",
    "ValueError: Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory utilization "
    "(0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
)


@pytest.mark.parametrize("failure", MEMORY_FAILURES, ids=["KV cache", "free memory"])
@pytest.mark.parametrize("columns", [72, 80, 100, 120, 132, 152, 160])
def test_a_wrapped_failure_is_explained_with_its_numbers(failure: str, columns: int, read_log) -> None:
    log, wrapped = (read_log("vllm", text) for text in (f"{failure}\n", wrap(failure, columns)))
    assert "GiB are needed" in log.marks("failure")[0] or "were free at the start" in log.marks("failure")[0]
    assert wrapped.marks("failure") == log.marks("failure")
    assert failure.startswith(wrapped.reading.errors[0])  # a last line of one word may be another text


def test_a_failure_that_is_quoted_and_folded_by_hand_is_explained(read_log) -> None:
    quoted = MEMORY_FAILURES[0].replace("(98304), ", "(98304),\n> ").replace("GiB). ", "GiB).\n> ")
    log = read_log("vllm", f"> Available KV cache memory: 22.5 GiB\n> {quoted}\n>\n> Raise it to 0.85.\n")
    assert log.marks("failure") == read_log("vllm", f"{MEMORY_FAILURES[0]}\n").marks("failure")
    assert log.reading.startup["available_kv_gib"] == 22.5
