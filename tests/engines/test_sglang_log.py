"""SGLang's grammar: lines by hand in every documented form, and two captures of a real 0.5.23."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines import ENGINES
from engines.base import ParsedSample, first_match
from engines.sglang.log import log_sample, read_phase, strict_acceptance_rate
from engines.sglang.stats import read_stats
from samples import LogSample

FIXTURES = Path(__file__).parent.parent / "fixtures" / "sglang"
NOW = datetime(2026, 11, 20, tzinfo=UTC)

STATS = {
    "0.1, fill": (
        "new fill batch. #seq: 7. #cached_token: 41. #new_token: 4. #remaining_req: 2. #running_req: 1. "
        "tree_cache_hit_rate: 12.50%.",
        {"type": "prefill", "new_seq": 7, "cached_tokens": 41, "new_tokens": 4, "remaining_req": 2, "running": 1}
        | {"prefix_cache_hit_pct": 12.5},
    ),
    "0.1, decode": (
        "#running-req: 7, #token: 900, token usage: 0.04, #queue-req: 3",
        {"type": "decode", "running": 7, "tokens": 900, "kv_cache_usage_pct": 4.0, "waiting": 3},
    ),
    "0.2, GPU in front": (
        "[gpu=0] Decode batch. #running-req: 2, #token: 60, token usage: 0.01, gen throughput (token/s): 3.34, "
        "#queue-req: 0",
        {"type": "decode", "running": 2, "generation_tps": 3.34, "waiting": 0, "kv_cache_usage_pct": 1.0},
    ),
    "0.3, time only": (
        "[16:43:29 TP0] Prefill batch. #new-seq: 4, #new-token: 8192, #cached-token: 291, cache hit rate: 2.76%, "
        "token usage: 0.04, #running-req: 1, #queue-req: 38",
        {"type": "prefill", "prefix_cache_hit_pct": 2.76, "running": 1, "waiting": 38, "rank": "TP0"},
    ),
    "0.4.6, pre-allocated": (
        "[2025-05-14 09:31:43 TP0] Decode batch. #running-req: 8, #token: 62531, token usage: 0.12, accept len: 2.50, "
        "pre-allocated usage: 0.30, cuda graph: True, gen throughput (token/s): 186.64, #queue-req: 0",
        {"kv_cache_usage_pct": 12.0, "preallocated_usage_pct": 30.0, "accept_length": 2.5, "graph": True},
    ),
    "0.5, iteration and tail": (
        "[2026-08-01 10:00:00.123] Decode batch [40], #running-req: 1, #token: 5, token usage: 0.00, accept len: 3.00, "
        "accept rate: 0.67, cap len: 4.00, block accept len: 2.50, cuda graph: True, gen throughput (token/s): 10.00, "
        "#queue-req: 0, est. decode TFLOPS/s (per GPU): 1.20",
        {"accept_length": 3.0, "accept_rate": 0.67, "block_accept_length": 2.5, "generation_tps": 10.0, "waiting": 0},
    ),
    "sliding window": (
        "[2026-08-02 00:04:10] Decode batch, #running-req: 4, #full token: 834, full token usage: 0.10, "
        "#swa token: 833, swa token usage: 0.25, cuda graph: False, gen throughput (token/s): 40.35, #queue-req: 0",
        {"full_tokens": 834, "full_usage_pct": 10.0, "swa_tokens": 833, "swa_usage_pct": 25.0, "graph": False}
        | {"kv_cache_usage_pct": 25.0},
    ),
    "state space": (
        "[2026-07-04 05:01:33 TP0] Decode batch, #running-req: 40, #full token: 350592, full token usage: 0.74, "
        "mamba num: 160, mamba usage: 0.80, npu graph: True, gen throughput (token/s): 155.34, #queue-req: 0",
        {"mamba_num": 160, "mamba_usage_pct": 80.0, "kv_cache_usage_pct": 74.0, "graph": True},
    ),
    "hierarchical sparse": (
        "[2026-04-08 14:10:03 TP0] Decode batch, #running-req: 5, #gpu-token: 20800, gpu token usage: 0.29, "
        "#cpu-token: 42422, cpu token usage: 0.30, cuda graph: True, gen throughput (token/s): 151.58, #queue-req: 0",
        {"kv_cache_usage_pct": 29.0, "cpu_kv_cache_usage_pct": 30.0, "gpu_tokens": 20800, "cpu_tokens": 42422},
    ),
    "disaggregated decode, Ascend, trailing comma": (
        "[2026-01-04 00:49:33 DP5 TP5 EP5] Decode batch, #running-req: 15, #token: 36992, token usage: 0.28, "
        "accept len: 2.83, accept rate: 0.71, pre-allocated usage: 0.03, #prealloc-req: 1, #transfer-req: 2, "
        "#host-receive-req: 4, #retracted-req: 3, cpu graph: True, gen throughput (token/s): 1.14, #queue-req: 0, ",
        {"rank": "DP5 TP5 EP5", "preallocated_usage_pct": 3.0, "prealloc_req": 1, "transfer_req": 2}
        | {"host_receive_req": 4, "retracted_req": 3, "generation_tps": 1.14, "waiting": 0},
    ),
    "disaggregated prefill": (
        "[2026-01-04 00:49:33] Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 9, token usage: 0.05, "
        "#running-req: 2, #queue-req: 3, #pending-token: 5, #bootstrap-req: 1, #inflight-req: 7, #optimistic-req: 8, "
        "musa graph: False, input throughput (token/s): 1.10",
        {"type": "prefill", "new_seq": 1, "new_tokens": 6, "cached_tokens": 9, "running": 2, "waiting": 3}
        | {"pending_tokens": 5, "bootstrap_req": 1, "inflight_req": 7, "optimistic_req": 8, "prompt_tps": 1.1},
    ),
    "another logger's head": (
        "2026-06-07 10:59:31,659 [INFO] sglang.srt.managers.scheduler_metrics_mixin: Decode batch, #running-req: 1, "
        "#token: 227, token usage: 0.00, cuda graph: True, gen throughput (token/s): 126.29, #queue-req: 0,",
        {"generation_tps": 126.29, "waiting": 0, "tokens": 227},
    ),
    "a path glued in front": (
        "@c:\\logs\\server.txt [2026-08-23 09:05:37 TP0 EP0] Decode batch, #running-req: 1, #token: 65376, "
        "token usage: 0.02, cuda graph: True, gen throughput (token/s): 167.04, #queue-req: 0",
        {"generation_tps": 167.04, "rank": "TP0 EP0"},
    ),
    "the bracket lost": (
        "2026-05-24 03:51:44 TP0] Decode batch, #running-req: 4, #token: 26, token usage: 1.00, "
        "gen throughput (token/s): 429.34, #queue-req: 3",
        {"generation_tps": 429.34, "rank": "TP0", "waiting": 3},
    ),
    "docker compose": (
        "sglang-1  | [2026-08-23 09:05:37 TP0] Decode batch, #running-req: 1, #token: 65, token usage: 0.02, "
        "gen throughput (token/s): 7.04, #queue-req: 0",
        {"generation_tps": 7.04, "rank": "TP0"},
    ),
}


@pytest.mark.parametrize("name", STATS)
def test_every_form_of_a_batch_line_is_read(name: str, read_log) -> None:
    text, wanted = STATS[name]
    (sample,) = read_log("sglang", text + "\n").samples
    assert wanted.items() <= sample.fields.items()


@pytest.mark.parametrize(
    "text",
    [
        "[2026-08-01 10:00:00] Receive: obj=GenerateReqInput(text='Decode batch, #running-req: 9, #token: 1')",
        "[2026-08-01 10:00:00] The Decode batch was large",
        '[2026-08-01 10:00:00] INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK',
        "Decode batch, #running-req: many, #token: some",
    ],
)
def test_what_only_mentions_a_batch_is_no_sample(text: str, read_log) -> None:
    assert read_log("sglang", text + "\n").samples == []


def test_a_number_that_is_none_is_left_out() -> None:
    fields = read_stats("Decode batch, #running-req: 1, token usage: nan, gen throughput (token/s): inf, #queue-req: 0")
    assert fields == {"type": "decode", "running": 1, "waiting": 0}


def test_two_records_on_a_line_stay_separate() -> None:
    text = "[2026-01-01 10:00:00] Decode batch, #running-req: 1, #token: 5, #queue-req: 0"
    two = "[2026-01-01 10:00:01] Decode batch, #running-req: 2, #token: 6, accept len: 2.00, #queue-req: 1"
    assert read_stats(f"{text} {two}") == {"type": "decode", "running": 1, "tokens": 5, "waiting": 0}


def test_record_wrapped_by_terminal_is_one_sample(read_log) -> None:
    first = (
        "[2026-07-04 05:01:34 TP0] Decode batch, #running-req: 40, #token: 35, token usage: 0.74, npu graph: True, gen"
    )
    for second in (
        "\n throughput (token/s): 155.34, #queue-req: 7\n",
        " through\nput (token/s): 155.34, #queue-req: 7\n",
    ):
        (sample,) = read_log("sglang", first + second).samples
        assert (sample.line, sample.fields["generation_tps"], sample.fields["waiting"]) == (1, 155.34, 7)


def test_a_record_cut_off_stands_for_itself(read_log) -> None:
    cut = "[2026-07-04 05:01:34] Decode batch, #running-req: 40, #token: 35\n"
    text = "[2026-07-04 05:01:35] Decode batch, #running-req: 41, #token: 36, token usage: 0.1, #queue-req: 0\n"
    assert [s.fields["running"] for s in read_log("sglang", cut + text).samples] == [40, 41]
    assert [s.fields["running"] for s in read_log("sglang", cut).samples] == [40]


STARTUP = """\
[2026-08-01 23:37:00] server_args=ServerArgs(speculative_algorithm='EAGLE', speculative_num_draft_tokens=4)
[2026-08-01 23:37:50] Load weight begin. avail mem=115.36 GB
[2026-08-01 23:39:39] Load weight end. elapsed=109.33 s, type=AForCausalLM, avail mem=47.80 GB, mem usage=67.56 GB.
[2026-08-01 23:39:55] Load weight end. elapsed=12.25 s, type=DraftForCausalLM, avail mem=46.25 GB, mem usage=1.58 GB.
[2026-08-01 23:39:56] Use sliding window memory pool. full_layer_tokens=185897, swa_layer_tokens=148717
[2026-08-01 23:40:01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 148717, K size: 10.21 GB, V size: 10.20 GB
[2026-08-01 23:40:01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 185897, K size: 4.25 GB, V size: 4.25 GB
[2026-08-01 23:40:01] SWAKVPool mem usage: 28.93 GB, swa size: 148717, full size: 185897
[2026-08-01 23:40:01] Memory pool end. avail mem=17.73 GB
[2026-08-01 23:40:01] KV Cache is allocated. #tokens: 185900, KV size: 4.26 GB
[2026-08-01 23:40:01] Memory pool end. avail mem=13.35 GB
[2026-08-01 23:40:02] Capture cuda graph begin. This can take up to several minutes. avail mem=12.52 GB
[2026-08-01 23:43:38] Capture cuda graph end. Time elapsed: 13.55 s. mem usage=3.12 GB. avail mem=62.18 GB.
[2026-08-01 23:43:41] Capture target verify CUDA graph end. elapsed=3.00 s, mem usage=0.60 GB, avail mem=6.67 GB.
[2026-08-01 23:43:42] max_total_num_tokens=185897, chunked_prefill_size=8192, max_prefill_tokens=16384, \
max_running_requests=48, context_len=65536, available_gpu_mem=6.22 GB
[2026-08-01 23:43:47] The server is fired up and ready to roll!
"""


def test_the_facts_of_a_start(read_log) -> None:
    log = read_log("sglang", STARTUP)
    assert log.reading.startup == {
        "speculative_algorithm": "EAGLE",
        "num_spec_tokens": 4,
        "model_load_s": 109.33,
        "model_load_gib": 67.56,
        "draft_load_s": 12.25,
        "draft_load_gib": 1.58,
        "kv_pools": [
            {"tokens": 148717, "k_gb": 10.21, "v_gb": 10.2, "role": "target swa"},
            {"tokens": 185897, "k_gb": 4.25, "v_gb": 4.25, "role": "target full"},
            {"tokens": 185900, "kv_gb": 4.26, "role": "draft"},
        ],
        "kv_cache_tokens": 185897,
        "kv_cache_dtype": "bfloat16",
        "swa_tokens": 148717,
        "swa_pool_gb": 28.93,
        "graph_capture_s": [13.55, 3.0],
        "graph_capture_gib": [3.12, 0.6],
        "chunked_prefill_size": 8192,
        "max_prefill_tokens": 16384,
        "max_running_requests": 48,
        "context_len": 65536,
        "ready": True,
    }
    assert log.marks("phase") == ["loading weights", "allocating the KV cache", "capturing graphs"]
    assert log.marks("ready") == ["ready"]
    assert log.reading.errors == []


def test_smallest_pool_of_ranks_is_usable(read_log) -> None:
    lines = [
        "[2026-01-04 00:41:26 DP1 TP1] Load weight end. type=A, avail mem=20.97 GB, mem usage=40.12 GB.",
        "[2026-01-04 00:41:26 DP0 TP0] Load weight end. type=A, avail mem=20.97 GB, mem usage=40.11 GB.",
        "[2026-01-04 00:41:26 DP1 TP1] The available memory for KV cache is 8.40 GB.",
        "[2026-01-04 00:41:26 DP0 TP0] The available memory for KV cache is 8.50 GB.",
        "[2026-01-04 00:41:26 DP1 TP1] KV Cache is allocated. #tokens: 132608, KV size: 8.69 GB",
        "[2026-01-04 00:41:26 DP0 TP0] KV Cache is allocated. #tokens: 132672, KV size: 8.70 GB",
        "[2026-01-04 00:41:26 DP0 TP0] Mamba Cache is allocated. max_mamba_cache_size: 48, conv_state size: 0.09GB",
    ]
    startup = read_log("sglang", "\n".join(lines)).reading.startup
    assert startup == {
        "model_load_gib": 40.12,
        "available_kv_gib": 8.4,
        "kv_cache_tokens": 132608,
        "kv_pools": [{"tokens": 132672, "kv_gb": 8.7}],
        "mamba_cache_size": 48,
    }


def test_the_target_pools_dtype_is_the_kv_cache_dtype(read_log) -> None:
    lines = (
        "[2026-09-14 07:22:48 TP0] KV Cache is allocated. dtype: torch.float8_e5m2, #tokens: 7100, KV size: 3.4 GB",
        "[2026-09-14 07:22:48 TP0] Memory pool end. avail mem=8.10 GB",
        "[2026-09-14 07:22:48 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 7100, KV size: 1.1 GB",
    )
    assert read_log("sglang", "\n".join(lines)).reading.startup["kv_cache_dtype"] == "float8_e5m2"


def test_second_start_in_the_log_is_its_own_run(read_log) -> None:
    startup = read_log("sglang", STARTUP + STARTUP.replace("67.56", "68.00")).reading.startup
    assert [run["model_load_gib"] for run in startup["runs"]] == [67.56, 68.0]
    assert startup["draft_load_gib"] == 1.58


def test_settings_before_the_arguments_are_no_start_of_their_own(read_log) -> None:
    command = "Command: ['--model-path', 'o/m', --speculative-num-draft-tokens 4, '--port', '1']\n"
    backend = "[2026-06-07 12:15:00] Attention backend not specified. Use fa3 backend by default.\n"
    assert "runs" not in read_log("sglang", command + backend + STARTUP).reading.startup


def test_progress_is_the_phase() -> None:
    assert (
        read_phase("Loading safetensors checkpoint shards:  34% Completed | 3/9 [00:50<05:20]")
        == "loading weights 34 %"
    )
    assert read_phase("Capturing batches (bs=8 avail_mem=7.19 GB):  12%|█▎        | 1/8") == "capturing graphs 12 %"
    assert read_phase("Load weights") is None


def stored(**fields: object) -> LogSample:
    return log_sample("run", ParsedSample(3, 120, fields), NOW, "read")


def test_a_sample_in_the_stores_terms() -> None:
    sample = stored(
        type="decode", rank="DP2 TP8 EP8", running=3, waiting=1, generation_tps=110.77, kv_cache_usage_pct=90.0,
        accept_length=2.74, accept_rate=0.69, num_spec_tokens=4, tokens=198016,
    )  # fmt: skip
    assert (sample.definition, sample.kind, sample.engine_index, sample.rank) == (
        "sglang.log",
        "decode",
        2,
        "DP2 TP8 EP8",
    )
    assert (sample.requests_running, sample.requests_waiting, sample.generation_tps) == (3, 1, 110.77)
    assert sample.kv_usage_ratio == pytest.approx(0.9)
    assert sample.acceptance_length == 2.74
    assert sample.acceptance_rate == pytest.approx(1.74 / 3)
    assert sample.extra["accept_rate"] == 0.69
    assert sample.window_s is None and sample.accepted_tokens is None


def test_strict_rate_needs_draft_token_count(read_log) -> None:
    assert strict_acceptance_rate(3.4, 4) == pytest.approx(0.8)
    assert strict_acceptance_rate(3.4, None) is None
    assert strict_acceptance_rate(None, 4) is None
    assert strict_acceptance_rate(1.0, 1) is None
    decode = "[2026-08-01 23:44:00] Decode batch, #running-req: 1, accept len: 2.50, accept rate: 0.62, #queue-req: 0\n"
    (sample,) = read_log("sglang", STARTUP + decode).samples
    assert sample.fields["num_spec_tokens"] == 4


def test_a_real_server_on_a_cpu(read_log) -> None:
    data = (FIXTURES / "0.5.23-cpu.log").read_bytes()
    log = read_log("sglang", data)
    assert [s.fields["generation_tps"] for s in log.samples if s.fields["type"] == "decode"] == [2.12, 85.36]
    assert log.reading.startup == {
        "model_load_gib": 0.0,
        "model_load_s": 0.08,
        "kv_pools": [{"tokens": 8192, "k_gb": 0.02, "v_gb": 0.02}],
        "kv_cache_tokens": 8192,
        "kv_cache_dtype": "bfloat16",
        "chunked_prefill_size": 4096,
        "max_prefill_tokens": 16384,
        "max_running_requests": 8,
        "context_len": 4096,
        "engine_init_s": 6.84,
        "ready": True,
    }
    assert log.reading.errors == []
    assert read_log("sglang", data, chunk=7).events == log.events


def test_a_real_server_that_failed(read_log) -> None:
    log = read_log("sglang", (FIXTURES / "0.5.23-tp2-fails.log").read_bytes())
    assert log.reading.errors[0] == "ValueError: Expected a cuda device, but got: cpu"
    assert "ready" not in log.reading.startup


@pytest.mark.parametrize("name", ["0.5.23-cpu.log", "0.5.23-tp2-fails.log"])
def test_its_logs_are_recognised(name: str) -> None:
    engine = first_match(ENGINES, (FIXTURES / name).read_text())
    assert engine is not None and engine.name == "sglang"


@pytest.mark.parametrize("words", ["not set", "not specified", "not explicitly specified"])
def test_attention_backend_by_default(words: str, read_log) -> None:
    text = f"[2026-01-01 10:00:00] Attention backend {words}. Use fa3 backend by default.\n"
    assert read_log("sglang", text).reading.startup == {"attention_backend": "fa3"}


@pytest.mark.parametrize(
    "text",
    [
        "Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM",
        "Use trtllm_mla attention backend for DeepSeek with MLA.",
        "Attention backend is set to trtllm_mla because of the page size.",
    ],
)
def test_attention_backend_that_the_model_needs(text: str, read_log) -> None:
    startup = read_log("sglang", f"[2026-01-01 10:00:00] {text}\n").reading.startup
    assert startup == {"attention_backend": "trtllm_mla"}


def test_limits_of_prefill(read_log) -> None:
    text = (
        "[2026-01-01 10:00:00 TP0] max_total_num_tokens=9000, chunked_prefill_size=2048, max_prefill_tokens=16384, "
        "max_running_requests=64, context_len=4096\n"
    )
    assert read_log("sglang", text).reading.startup == {
        "kv_cache_tokens": 9000, "chunked_prefill_size": 2048, "max_prefill_tokens": 16384,
        "max_running_requests": 64, "context_len": 4096,
    }  # fmt: skip


def test_version_of_its_container(read_log) -> None:
    banner = "NVIDIA Release 26.05 (build 7)\nSGLang Version 0.5.11+05fb6a52\n"
    assert read_log("sglang", banner).reading.version == "0.5.11+05fb6a52"
