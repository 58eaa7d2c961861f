"""vLLM's grammar: lines by hand in every documented form, and captures of a real 0.32."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines import ENGINES
from engines.base import ParsedSample, StartupFact, first_match
from engines.vllm.log import log_parser, log_sample
from engines.vllm.startup import kv_tokens_definition

FIXTURES = Path(__file__).parent.parent / "fixtures" / "vllm"
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
FACTS = {
    "Loading model weights took 14.9888 GB": {"model_load_gb": 14.9888},
    "Model loading took 14.9889 GiB and 10.822364 seconds": {"model_load_gib": 14.9889, "model_load_s": 10.822364},
    "Model loading took 5.8 GiB memory and 2.500000 seconds": {"model_load_gib": 5.8, "model_load_s": 2.5},
    "Loading weights took 2.48 seconds": {"weights_load_s": [2.48]},
    "torch.compile takes 16.61 s in total": {"compile_passes_s": [16.61], "compile_s": 16.61},
    "[backbone] torch.compile took 16.61 s in total": {"compile_passes_s": [16.61], "compile_s": 16.61},
    "torch.compile and initial profiling/warmup run together took 18.50 s in total": {"compile_and_profile_s": [18.5]},
    "Initial profiling/warmup run took 2.59 s": {"profiling_s": [2.59]},
    "Compiling a graph for compile range (1, 4096) takes 18.60 s": {"compile_graph_s": 18.6},
    "Dynamo bytecode transform time: 4.76 s": {"dynamo_s": 4.76},
    "# GPU blocks: 2987, # CPU blocks: 4096": {"num_gpu_blocks": 2987, "num_cpu_blocks": 4096},
    "# cuda blocks: 2987, # CPU blocks: 4096": {"num_gpu_blocks": 2987, "num_cpu_blocks": 4096},
    "# GPU blocks: 2987": {"num_gpu_blocks": 2987},
    "Free memory on device (46.99/47.37 GiB) on startup. Actual usage is 0.22 GiB for CUDAGraph memory. "
    "Replace gpu_memory_utilization config with "
    "`--kv-cache-memory=39207879578` (36.52 GiB) to fit into requested memory. "
    "Current kv cache memory in use is 36.88 GiB.": {"kv_cache_gib": 36.88},
    "Available KV cache memory: 26.91 GiB": {
        "available_kv_gib": 26.91,
        "available_kv_gib_per_rank": [26.91],
        "kv_cache_bytes": 28894392484,
    },
    "GPU KV cache size: 868,080 tokens": {"kv_cache_tokens": 868080, "kv_cache_tokens_printed": [868080]},
    "Maximum concurrency for 1,024 tokens per request: 847.73x": {
        "max_concurrency": 847.73,
        "max_concurrency_context": 1024,
    },
    "GPU + host KV cache size: 868,080 tokens, Maximum concurrency for 1,024 tokens per request: 847.73x": {
        "kv_cache_tokens": 868080,
        "kv_cache_tokens_printed": [868080],
        "max_concurrency": 847.73,
        "max_concurrency_context": 1024,
    },
    "Graph capturing finished in 27 secs.": {"graph_capture_s": 27},
    "Graph capturing finished in 4 secs, took -0.41 GiB": {"graph_capture_s": 4, "graph_capture_gib": -0.41},
    "init engine (profile, create kv cache, warmup model) took 23.02 seconds": {"engine_init_s": 23.02},
    "init engine (profile, create kv cache, warmup model) took 234.64 s (compilation: 56.37 s)": {
        "engine_init_s": 234.64,
        "compile_s": 56.37,
    },
    "init engine (profile, create kv cache, warmup model) took 9.00 s (compilation: 5.50 s — language_model: 4.00 s, "
    "encoder: 1.50 s)": {"engine_init_s": 9.0, "compile_s": 5.5},
    "Using Flash Attention backend on V1 engine.": {"attention_backend": "Flash Attention"},
    "Using FlashMLA backend on V1 engine.": {"attention_backend": "FlashMLA"},
    "Using IPEX attention backend.": {"attention_backend": "IPEX"},
    "Using FLASH_ATTN backend.": {"attention_backend": "FLASH_ATTN"},
    "Using FLASHINFER attention backend out of potential backends: ['FLASHINFER', 'TRITON_ATTN'].": {
        "attention_backend": "FLASHINFER"
    },
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


@pytest.mark.parametrize("text", FACTS)
@pytest.mark.parametrize("head", ["", CORE, "INFO 05-20 01:43:25 worker.py:1] "])
def test_startup_fact(text: str, head: str, read_log) -> None:
    log = read_log("vllm", head + text + "\n")
    assert log.reading.startup == FACTS[text]
    assert {event.key for event in log.events if isinstance(event, StartupFact)} <= set(FACTS[text])
    assert log.marks("startup") == [text.strip()]


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
def test_a_spec_line_belongs_to_the_line_of_its_process_and_second(
    between: str, second: str, merged: bool, read_log
) -> None:
    log = read_log("vllm", f"{API}Engine 000: {RATES}{V1_TAIL}\n{between}{SPEC_AT.format(second=second)}\n")
    spec_line = 2 + between.count("\n")
    first = next(sample for sample in log.samples if sample.line == 1)
    assert first.fields.get("spec_line") == (spec_line if merged else None)
    assert (spec_line in {sample.line for sample in log.samples}) is not merged


def test_each_dp_engine_gets_its_own_spec_line(read_log) -> None:
    blocks = "".join(f"{API}Engine 00{n}: {RATES}{V1_TAIL}\n{SPEC_AT.format(second='25')}\n" for n in range(3))
    samples = read_log("vllm", blocks).samples
    assert [(s.fields["engine"], s.fields["spec_line"]) for s in samples] == [(0, 2), (1, 4), (2, 6)]


def test_v0_prefix_rates_belong_to_the_line_before(read_log) -> None:
    head = "INFO 05-20 01:43:25 metrics.py:449] "
    log = read_log("vllm", f"{head}{RATES}Running: 1 reqs\n{head}Prefix cache hit rate: GPU: 59.26%, CPU: 0.00%\n")
    (sample,) = log.samples
    assert (sample.fields["gpu_prefix_cache_hit_pct"], sample.fields["cpu_prefix_cache_hit_pct"]) == (59.26, 0.0)


def test_a_held_line_is_given_out_when_the_log_falls_silent() -> None:
    grammar = first_match(ENGINES, API + RATES).log
    parser = grammar.log_parser()
    line = f"{API}Engine 000: {RATES}{V1_TAIL}\n".encode()
    assert not [event for event in parser.feed(line) if isinstance(event, ParsedSample)]
    assert parser.settled_offset() == 0
    assert [event.line for event in parser.release_held()] == [1]
    assert parser.settled_offset() == len(line)


def test_of_several_workers_the_usable_value_counts(read_log) -> None:
    worker = "(Worker_TP{rank} pid=1{rank}) INFO 05-20 01:43:25 [w.py:1] "
    log = "".join(
        worker.format(rank=rank) + text + "\n"
        for rank, gib, tokens in ((1, 55.62, 3_644_816), (0, 55.71, 3_650_960))
        for text in (
            f"Available KV cache memory: {gib} GiB",
            f"GPU KV cache size: {tokens:,} tokens",
            f"torch.compile took {rank + 10}.00 s in total",
            "torch.compile took 2.00 s in total",
        )
    )
    startup = read_log("vllm", log).reading.startup
    assert startup["kv_cache_tokens"] == 3_644_816
    assert startup["available_kv_gib"] == 55.62
    assert startup["kv_cache_tokens_printed"] == [3_644_816, 3_650_960]
    assert (startup["compile_passes_s"], startup["compile_s"]) == ([10.0, 2.0], 12.0)


def test_a_second_start_in_one_log_is_a_run_of_its_own(read_log) -> None:
    start = f"{CORE}Initializing a V1 LLM engine (v0.19.1) with config: model='m', quantization=fp8, max_seq_len=100,\n"
    log = read_log("vllm", f"{start}{CORE}GPU KV cache size: 10 tokens\n{start}{CORE}GPU KV cache size: 20 tokens\n")
    assert log.reading.version == "0.19.1"
    assert [run["kv_cache_tokens"] for run in log.reading.startup["runs"]] == [10, 20]
    assert log.reading.startup["kv_cache_tokens"] == 20
    assert (log.reading.startup["quantization"], log.reading.startup["max_model_len"]) == ("fp8", 100)


@pytest.mark.parametrize(
    ("version", "definition"),
    [
        ("0.19.2rc1.dev134+gfe9c3d6c5", "num_blocks // num_groups * min_block_size"),
        ("0.20.0", "num_blocks // num_groups * min_block_size"),
        ("0.20.1", None),
        ("0.20.2", "max_concurrency * max_model_len"),
        ("0.33.0", "max_concurrency * max_model_len"),
        (None, None),
    ],
)
def test_kv_tokens_mean_what_the_version_means(version: str | None, definition: str | None) -> None:
    assert kv_tokens_definition(version) == definition


def test_phases_in_order_and_once(read_log) -> None:
    log = (
        f"{CORE}Starting to load model m...\n{CORE}Starting to load model m...\n"
        "\rLoading safetensors checkpoint shards:  34% Completed | 1/3\n"
        f"{CORE}Dynamo bytecode transform time: 4.76 s\n"
        "\rCapturing CUDA graphs (mixed prefill-decode, PIECEWISE):  51%|█████ | 26/51\n"
        "(APIServer pid=1) INFO:     Application startup complete.\n"
    )
    read = read_log("vllm", log)
    assert read.marks("phase") == ["loading weights", "loading weights 34 %", "compiling", "capturing graphs 51 %"]
    assert read.marks("ready") == ["ready"]
    assert read.reading.startup["ready"] is True


def test_warnings_that_matter_are_told_once(read_log) -> None:
    head = "(EngineCore pid=2) WARNING 05-20 01:43:25 [kv.py:1] "
    fp8 = "Using KV cache scaling factor 1.0 for fp8_e4m3. If this is unintended, verify that k/v_scale are set."
    log = read_log("vllm", f"{head}{fp8}\n{head}{fp8}\n{head}Failed to read file <frozen os>\n")
    assert log.marks("warning") == [
        "FP8 KV cache scaling factors default to 1.0: the checkpoint gives none, so accuracy may suffer."
    ]


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


def test_the_version_and_the_method_of_a_start_are_facts_once() -> None:
    start = (
        b"INFO 01-01 21:15:20 [api_server.py:1] vLLM API server version 0.21.0\n"
        b"INFO 01-01 21:15:21 [core.py:93] Initializing a V1 LLM engine (v0.21.0) with config: model='m', "
        b"speculative_config=SpeculativeConfig(method='draft_model', model='/srv/draft', num_spec_tokens=3), dtype=x\n"
    )
    told = [(one.key, one.value) for one in log_parser().feed(start) if isinstance(one, StartupFact)]
    assert told.count(("engine_version", "0.21.0")) == 1
    assert ("speculative_method", "draft_model") in told and ("num_spec_tokens", 3) in told
