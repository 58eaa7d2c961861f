"""vLLM's grammar: lines by hand in every documented form, and captures of a real 0.32."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines import ENGINES
from engines.base import ParsedSample, first_match
from engines.vllm.log import log_sample

FIXTURES = Path(__file__).parents[2] / "fixtures" / "vllm"
NOW = datetime(2026, 11, 20, tzinfo=UTC)
API = "(APIServer pid=1) INFO 05-20 01:43:25 [loggers.py:259] "
CORE = "(EngineCore pid=2) INFO 05-20 01:43:25 [core.py:1] "
ACCESS = '(APIServer pid=1) INFO:     1.2.3.4:5 - "POST /v1/completions HTTP/1.1" 200 OK'
RATES = "Avg prompt throughput: 40.7 tokens/s, Avg generation throughput: 104.5 tokens/s, "
READ_RATES = {"prompt_tps": 40.7, "generation_tps": 104.5}
V1 = {**READ_RATES, "running": 3, "waiting": 2, "kv_cache_usage_pct": 1.5, "prefix_cache_hit_pct": 31.4}
V1_TAIL = "Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 1.5%, Prefix cache hit rate: 31.4%"

STATS = {
    "V0": (
        f"INFO 05-20 01:43:25 metrics.py:449] {RATES}Running: 3 reqs, Swapped: 1 reqs, Pending: 2 reqs, "
        "GPU KV cache usage: 1.5%, CPU KV cache usage: 0.5%.",
        {
            **READ_RATES,
            "running": 3,
            "swapped": 1,
            "waiting": 2,
            "kv_cache_usage_pct": 1.5,
            "cpu_kv_cache_usage_pct": 0.5,
        },
    ),
    "V1 0.7.3, no engine": (f"INFO 05-20 01:43:25 [loggers.py:7] {RATES}{V1_TAIL}", V1),
    "0.8.5": (f"INFO 05-20 01:43:25 [loggers.py:7] Engine 000: {RATES}{V1_TAIL}", {"engine": 0, **V1}),
    "0.11, external and multi-modal caches": (
        f"{API}Engine 001: {RATES}{V1_TAIL}, External prefix cache hit rate: 100.0%, MM cache hit rate: 12.5%",
        {"engine": 1, **V1, "external_prefix_cache_hit_pct": 100.0, "mm_cache_hit_pct": 12.5},
    ),
    "0.11, aggregated": (f"{API}4 Engines Aggregated: {RATES}{V1_TAIL}", {"aggregated_engines": 4, **V1}),
    "0.20.2, deferred": (
        f"{API}Engine 000: {RATES}Running: 3 reqs, Waiting: 2 reqs, Deferred: 1 reqs, GPU KV cache usage: 1.5%, "
        "Prefix cache hit rate: 31.4%",
        {"engine": 0, **V1, "deferred": 1},
    ),
    "0.30, another device": (
        f"{API}Engine 000: {RATES}Running: 3 reqs, Waiting: 2 reqs, XPU KV cache usage: 1.5%, "
        "Prefix cache hit rate: 31.4%",
        {"engine": 0, **V1},
    ),
    "0.30, a CPU's KV cache is the KV cache": (
        f"{API}Engine 000: {RATES}Running: 3 reqs, Waiting: 2 reqs, Prefix cache hit rate: 31.4%, "
        "CPU KV cache usage: 1.5%",
        {"engine": 0, **V1},
    ),
    "0.33, KV fetch, no hit rate yet": (
        f"{API}Engine 000: {RATES}Running: 3 reqs, Waiting: 2 reqs, Deferred: 6 reqs, KV fetch: 1 waiting to start, "
        "2 in progress, 3 completed waiting, GPU KV cache usage: 1.5%",
        {"engine": 0, **READ_RATES, "running": 3, "waiting": 2, "deferred": 6, "kv_cache_usage_pct": 1.5}
        | {"kv_fetch_waiting": 1, "kv_fetch_in_progress": 2, "kv_fetch_completed": 3},
    ),
    "no head at all": (f"Engine 000: {RATES}{V1_TAIL}", {"engine": 0, **V1}),
    "JSON": (json.dumps({"levelname": "INFO", "message": f"Engine 000: {RATES}{V1_TAIL}"}), {"engine": 0, **V1}),
    "behind a bar": (f"\r 50%|██   | 5/10 [00:01<00:01]{API}Engine 000: {RATES}{V1_TAIL}", {"engine": 0, **V1}),
    "spec, V0 totals": (
        "INFO 05-20 01:43:25 [metrics.py:477] Speculative metrics: Draft acceptance rate: 0.791, "
        "System efficiency: 0.650, Number of speculative tokens: 5, Number of accepted tokens: 2,001, "
        "Number of draft tokens: 2530, "
        "Number of emitted tokens: 1973.",
        {"draft_accept_rate": 0.791, "system_efficiency": 0.65, "num_spec_tokens": 5, "accepted_tokens": 2001}
        | {"drafted_tokens": 2530, "emitted_tokens": 1973, "cumulative": True},
    ),
    "spec, 0.8.3 dev": (
        "Speculative metrics: Draft acceptance rate: 1.000, Number of accepted tokens: 66, "
        "Number of draft tokens: 66, ",
        {"draft_accept_rate": 1.0, "accepted_tokens": 66, "drafted_tokens": 66},
    ),
    "spec, 0.8.3": (
        "SpecDecoding metrics: Draft acceptance rate: 98.5%, Accepted: 65 tokens, Drafted: 66 tokens",
        {"draft_accept_rate_pct": 98.5, "accepted_tokens": 65, "drafted_tokens": 66},
    ),
    "spec, 0.8.5": (
        "INFO 05-20 01:43:25 [metrics.py:7] SpecDecoding metrics: Draft acceptance rate: 75.0%, "
        "Mean acceptance length: 2.50, Accepted: 3 tokens, Drafted: 4 tokens, "
        "Per-position acceptance rate: 1.000, 0.500",
        {"draft_accept_rate_pct": 75.0, "accept_length": 2.5, "accepted_tokens": 3, "drafted_tokens": 4}
        | {"per_position": [1.0, 0.5]},
    ),
    "spec, custom depth": (
        "SpecDecoding metrics: Mean acceptance length: 6.82, Current speculative depth: 7, Accepted throughput: "
        "9.00 tokens/s, Drafted throughput: 12.00 tokens/s, Accepted: 90 tokens, Drafted: 120 tokens, "
        "Per-position acceptance rate: 0.9, 0.8, Avg Draft acceptance rate: 75.0%",
        {"accept_length": 6.82, "spec_depth": 7, "accepted_tps": 9.0, "drafted_tps": 12.0, "accepted_tokens": 90}
        | {"drafted_tokens": 120, "per_position": [0.9, 0.8], "draft_accept_rate_pct": 75.0},
    ),
    "spec, the rate is not a number": (
        "SpecDecoding metrics: Mean acceptance length: nan, Accepted throughput: 0.00 tokens/s, "
        "Drafted throughput: 0.00 tokens/s, Accepted: 0 tokens, Drafted: 0 tokens, Per-position acceptance rate: , "
        "Avg Draft acceptance rate: nan%",
        {"accepted_tps": 0.0, "drafted_tps": 0.0, "accepted_tokens": 0, "drafted_tokens": 0},
    ),
    "diffusion": (
        f"{API}DiffusionDecoding metrics: Committed token throughput: 12.50 tokens/s, "
        "Mean denoising steps per canvas: 8.00",
        {"committed_tps": 12.5, "denoising_steps_per_canvas": 8.0},
    ),
}
NO_STATS = {
    "iteration": f"{API}Engine 000: Iteration(7): 1 context requests, 12 context tokens, 3 generation requests, "
    "3 generation tokens, iteration elapsed time: 4.20 ms, GPU KV cache usage: 1.5%",
    "MFU": f"{API}MFU: 12.5 TF/s/GPU 1800.0 GB/s/GPU",
    "KV connector": f"{API}KV Transfer metrics: Avg xfer time (ms)=1.2, Throughput (MB/s)=900.1",
    "a word broken by a wrap": f"{API}Engine 000: Avg prompt throughput: 1.0 tokens/s, "
    "Avg generation throughpu t: 2.0 tokens/s",
    "cut before the second rate": f"{API}Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg gene",
    "a benchmark's table": "Output token throughput (tok/s):         104.5",
    "glued behind a record": f"{ACCESS} {API}Engine 000: {RATES}{V1_TAIL}",
}


@pytest.mark.parametrize("name", STATS)
def test_stats_line(name: str, read_log) -> None:
    text, fields = STATS[name]
    (sample,) = read_log("vllm", text + "\n").samples
    assert (sample.line, sample.offset) == (1, 0)
    assert dict(sample.fields) == fields


@pytest.mark.parametrize("name", NO_STATS)
def test_what_is_no_stats_line(name: str, read_log) -> None:
    assert read_log("vllm", NO_STATS[name] + "\n").samples == []


SPEC = "SpecDecoding metrics: Mean acceptance length: 2.00, Accepted: 5 tokens, Drafted: 5 tokens"
SPEC_AT = "(APIServer pid=1) INFO 05-20 01:43:{second} [metrics.py:101] " + SPEC


@pytest.mark.parametrize(
    ("between", "second", "merged"),
    [
        ("", "25", True),
        ("(EngineCore pid=2) INFO 05-20 01:43:25 [core.py:1] GPU KV cache size: 10 tokens\n", "25", True),
        (f"{ACCESS}\n", "25", True),
        ("", "35", False),
        (f"(APIServer_DP1 pid=9) INFO 05-20 01:43:25 [a.py:1] Engine 001: {RATES}{V1_TAIL}\n", "25", True),
    ],
)
def test_spec_line_joins_its_process_and_second(between: str, second: str, merged: bool, read_log) -> None:
    log = read_log("vllm", f"{API}Engine 000: {RATES}{V1_TAIL}\n{between}{SPEC_AT.format(second=second)}\n")
    spec_line = 2 + between.count("\n")
    first = next(sample for sample in log.samples if sample.line == 1)
    assert first.fields.get("spec_line") == (spec_line if merged else None)
    assert (spec_line in {sample.line for sample in log.samples}) is not merged


def test_each_dp_engine_gets_its_own_spec_line(read_log) -> None:
    blocks = "".join(f"{API}Engine 00{n}: {RATES}{V1_TAIL}\n{SPEC_AT.format(second='25')}\n" for n in range(3))
    samples = read_log("vllm", blocks).samples
    assert [(s.fields["engine"], s.fields["spec_line"]) for s in samples] == [(0, 2), (1, 4), (2, 6)]


def test_v0_prefix_rates_join_the_line_before(read_log) -> None:
    head = "INFO 05-20 01:43:25 metrics.py:449] "
    log = read_log("vllm", f"{head}{RATES}Running: 1 reqs\n{head}Prefix cache hit rate: GPU: 59.26%, CPU: 0.00%\n")
    (sample,) = log.samples
    assert (sample.fields["gpu_prefix_cache_hit_pct"], sample.fields["cpu_prefix_cache_hit_pct"]) == (59.26, 0.0)


def test_held_line_is_released_when_log_is_silent() -> None:
    grammar = first_match(ENGINES, API + RATES).log
    parser = grammar.log_parser()
    line = f"{API}Engine 000: {RATES}{V1_TAIL}\n".encode()
    assert not [event for event in parser.feed(line) if isinstance(event, ParsedSample)]
    assert parser.settled_offset() == 0
    assert [event.line for event in parser.release_held()] == [1]
    assert parser.settled_offset() == len(line)


def test_log_sample_in_the_stores_terms(read_log) -> None:
    text = f"{API}Engine 001: {RATES}{V1_TAIL}\n{SPEC_AT.format(second='25').replace('Drafted: 5', 'Drafted: 20')}\n"
    (parsed,) = read_log("vllm", text).samples
    sample = log_sample("r", parsed, NOW, "stamp")
    assert (sample.definition, sample.engine_index, sample.window_s) == ("vllm.log", 1, None)
    assert (sample.kv_usage_ratio, sample.acceptance_rate, sample.acceptance_length) == (0.015, 0.25, 2.0)
    assert (sample.generation_tps, sample.requests_running, sample.requests_waiting) == (104.5, 3, 2)
    assert sample.extra == {"prefix_cache_hit_pct": 31.4, "spec_line": 2}


def test_running_totals_are_no_windows_numbers(read_log) -> None:
    (parsed,) = read_log("vllm", STATS["spec, V0 totals"][0]).samples
    sample = log_sample("r", parsed, NOW, "read")
    assert (sample.acceptance_rate, sample.accepted_tokens, sample.window_s) == (None, None, None)
    assert sample.extra["accepted_tokens"] == 2001


def test_no_drafts_is_no_rate(read_log) -> None:
    (parsed,) = read_log("vllm", STATS["spec, the rate is not a number"][0]).samples
    assert log_sample("r", parsed, NOW, "read").acceptance_rate is None


def test_capture_with_ngram_speculation(read_log) -> None:
    data = (FIXTURES / "0.32-ngram.log").read_bytes()
    log = read_log("vllm", data)
    assert first_match(ENGINES, data.decode()).name == "vllm"
    assert log.reading.version == "0.32.0"
    assert log.reading.errors == []
    assert log.reading.startup["kv_cache_tokens"] == 524_288
    assert log.reading.startup["ready"] is True
    spec = [sample for sample in log.samples if "spec_line" in sample.fields]
    assert spec and all(sample.fields["spec_line"] == sample.line + 1 for sample in spec)
    assert spec[0].fields["accept_length"] == 4.92


def test_capture_with_two_data_parallel_engines(read_log) -> None:
    samples = read_log("vllm", (FIXTURES / "0.32-dp2.log").read_bytes()).samples
    assert [sample.fields["engine"] for sample in samples] == [0, 1, 0, 1]


def test_a_line_in_which_markdown_stresses_a_number(read_log) -> None:
    text = (
        "SpecDecoding metrics: Mean acceptance length: 5.93, **Accepted throughput: 111.39 tokens/s**, Drafted "
        "throughput: 112.99 tokens/s, Accepted: 1114 tokens, Drafted: 1130 tokens, Avg Draft acceptance rate: 98.6%\n"
    )
    (sample,) = read_log("vllm", text).samples
    assert (sample.fields["accepted_tps"], sample.fields["drafted_tps"]) == (111.39, 112.99)


def test_a_head_in_which_markdown_links_a_file(read_log) -> None:
    text = (
        "(APIServer pid=1) INFO 06-11 12:33:59 [[loggers.py:259](http://loggers.py:259/)] Engine 000: Avg prompt "
        "throughput: 430.1 tokens/s, Avg generation throughput: 45.4 tokens/s, Running: 3 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 40.0%, Prefix cache hit rate: 10.8%\n"
    )
    (sample,) = read_log("vllm", text).samples
    assert (sample.fields["generation_tps"], sample.fields["running"], sample.stamp is None) == (45.4, 3, False)
