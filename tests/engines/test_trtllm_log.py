"""TensorRT-LLM's grammar: iteration lines of four releases, KV cache lines of both runtimes, causes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engines import ENGINES
from engines.base import ParsedSample, first_match
from engines.trtllm.log import log_sample

NOW = datetime(2026, 11, 20, tzinfo=UTC)
STATES = {"num_ctx_requests": 1, "num_ctx_tokens": 4096, "num_generation_tokens": 3}
LITERAL = "states = {'num_ctx_requests': 1, 'num_ctx_tokens': 4096, 'num_generation_tokens': 3}"
FORMS = {
    "April 2025": (
        "[04/28/2025-09:56:44] [TRT-LLM] [I] iter = 8, global_rank = 0, rank = 0, currank_total_requests = 0/0, "
        f"elapsed_time = 0.005060911178588867s, timestamp = 2025-04-28 09:56:44, {LITERAL}",
        {"elapsed_s": 0.005060911178588867, "global_rank": 0},
    ),
    "August 2025": (
        "[08/07/2025-02:28:52] [TRT-LLM] [I] iter = 8, global_rank = 1, rank = 1, currank_total_requests = 0/0, "
        f"elapsed_time = 0.0950s, timestamp = 2025-08-07 02:28:52, num_scheduled_requests: 4, {LITERAL}",
        {"elapsed_s": 0.095, "num_scheduled": 4, "global_rank": 1},
    ),
    "step times": (
        "[12/07/2025-02:28:52] [TRT-LLM] [RANK 0] [I] iter = 8, global_rank = 0, rank = 0, "
        "currank_total_requests = 4/4, host_step_time = 12.5ms, prev_device_step_time = N/A, "
        "timestamp = 2025-12-07 02:28:52, "
        f"num_scheduled_requests: 4, {LITERAL}",
        {"host_step_ms": 12.5, "num_scheduled": 4, "global_rank": 0},
    ),
    "KV utilization": (
        "[08/04/2026-19:08:13] [TRT-LLM] [I] [_torch][RANK 0] iter = 8, global_rank = 0, rank = 0, "
        "num_scheduled_requests = 4, kv_cache_util = 0.125, currank_total_requests = 1/8, host_step_time = 7.4ms, "
        f"prev_device_step_time = 7.1ms, timestamp = 2026-08-04 19:08:13, {LITERAL}, num_active = 14",
        {"host_step_ms": 7.4, "prev_device_step_ms": 7.1, "num_scheduled": 4, "kv_cache_usage_pct": 12.5}
        | {"global_rank": 0},
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_an_iteration_line_is_read(name: str, read_log) -> None:
    text, wanted = FORMS[name]
    (sample,) = read_log("trtllm", text + "\n").samples
    assert dict(sample.fields) == {"iter": 8} | STATES | wanted
    assert sample.stamp is not None


def test_an_iteration_without_states_is_one_too(read_log) -> None:
    line = "[TRT-LLM] [I] iter = 198, global_rank = 0, elapsed_time = 0.005s, timestamp = 2025-04-28 09:56:44\n"
    (sample,) = read_log("trtllm", line).samples
    assert dict(sample.fields) == {"iter": 198, "global_rank": 0, "elapsed_s": 0.005}
    assert read_log("trtllm", "[TRT-LLM] [I] iter = 198, done\n").samples == []


KV_LINES = {
    "[TensorRT-LLM][INFO] Allocate 1342177280 bytes for k/v cache. ": {"kv_cache_bytes": 1342177280},
    "[TensorRT-LLM][INFO] Using 2560 total tokens in paged KV cache, and 20 blocks per sequence": {
        "kv_cache_tokens": 2560
    },
    "[TensorRT-LLM][INFO] Using 10718 tokens in paged KV cache.": {"kv_cache_tokens": 10718},
    "[TensorRT-LLM][INFO] Max tokens in paged KV cache: 117760. Allocating 54022635520 bytes.": {
        "kv_cache_tokens": 117760,
        "kv_cache_bytes": 54022635520,
    },
    "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 78.30 GiB for max tokens in paged KV cache (3731744).": {
        "kv_cache_gib": 78.3,
        "kv_cache_tokens": 3731744,
    },
    "[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 65 [window size=2051], tokens per block=32, "
    "primary blocks=116617, secondary blocks=0": {
        "tokens_per_block": 32,
        "kv_blocks": 116617,
        "kv_cache_tokens": 3731744,
    },
    "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 631": {"kv_blocks": 631},
    "[TensorRT-LLM][INFO] Loaded engine size: 3404 MiB": {"model_load_gib": 3404 / 1024},
    "INFO:     Application startup complete.": {"ready": True},
    "[11/07/2025-07:20:57] [TRT-LLM] [I] max_seq_len=8193, max_num_requests=32, max_num_tokens=8192, "
    "max_batch_size=32": {"max_model_len": 8193, "max_running_requests": 32, "max_num_batched_tokens": 8192},
    "[11/07/2025-07:20:57] [TRT-LLM] [RANK 0] [I] max_seq_len=8193, max_num_requests=32, max_num_tokens=8192": {
        "max_model_len": 8193,
        "max_running_requests": 32,
        "max_num_batched_tokens": 8192,
    },
    "[TensorRT-LLM][INFO] TRTGptModel maxNumSequences: 8": {"max_running_requests": 8},
    "[TensorRT-LLM][INFO] TRTGptModel maxSequenceLen: 8000": {"max_model_len": 8000},
    "[TensorRT-LLM][INFO] TRTGptModel maxNumTokens: 4096": {"max_num_batched_tokens": 4096},
    "[TensorRT-LLM][INFO] TRTGptModel maxDraftLen: 0": {},
    "[TensorRT-LLM][INFO] TRTGptModel maxDraftLen: 3": {"num_spec_tokens": 3},
    "[12/20/2025-04:21:51] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 113.65 GiB, "
    "available KV cache memory when calculating max tokens: 5.95 GiB, fraction is set 0.8999999761581421, kv size is "
    "73728. device total memory 119.70 GiB, , tmp kv_mem 0.56 GiB": {
        "free_gpu_memory_fraction": 0.9,
        "gpu_memory_gib": 119.7,
    },
    "[12/20/2025-04:21:51] [TRT-LLM] [I] Memory used after loading model weights (inside torch) in memory usage "
    "profiling: 60.61 GiB": {"weights_gib": 60.61},
    "[07/24/2025-08:13:02] [TRT-LLM] [I] Rank 0 uses 8.46 GB for model weights.": {"weights_gib": 8.46},
    "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 79.14 GiB, available: "
    "74.69 GiB": {"gpu_memory_gib": 79.14, "free_memory_gib": 74.69},
    "[12/20/2025-04:20:21] [TRT-LLM] [I] Use 63.32 GB for model weights.": {"weights_gib": 63.32},
    "[12/20/2025-04:21:09] [TRT-LLM] [I] max_seq_len is not specified, using inferred value 131072": {
        "max_model_len": 131072
    },
    "[12/20/2025-04:20:19] [TRT-LLM] [I] ATTENTION RUNTIME FEATURES:  AttentionRuntimeFeatures(chunked_prefill=False, "
    "cache_reuse=True, has_speculative_draft_tokens=False, chunk_size=8192)": {
        "chunked_prefill": False,
        "prefix_caching": True,
    },
    "[12/20/2025-04:20:19] [TRT-LLM] [I] PyTorchConfig(extra_resource_managers={}, attn_backend='TRTLLM', "
    "moe_backend='CUTLASS')": {"attention_backend": "TRTLLM"},
    "[TRT-LLM] [I] Estimated max memory in KV cache : 5.95 GiB": {"estimated_kv_gib": 5.95},
    "[12/20/2025-04:21:51] [TRT-LLM] [W] Adjusted max_seq_len to 86720": {"max_model_len": 86720},
    "[TRT-LLM] [I] LLM Args: max_seq_len=None max_num_tokens=8192 max_batch_size=2048": {},
}


@pytest.mark.parametrize("line", KV_LINES)
def test_every_form_of_a_start_up_line_is_read(line: str, read_log) -> None:
    assert read_log("trtllm", line + "\n").reading.startup == KV_LINES[line]


def test_final_cache_counts_not_the_estimate(read_log) -> None:
    line = "[TensorRT-LLM][INFO] [MemUsageChange] Allocated {gib} GiB for max tokens in paged KV cache ({tokens})."
    text = line.format(gib="1.00", tokens=8192) + "\n" + line.format(gib="78.30", tokens=3731744)
    assert read_log("trtllm", text).reading.startup == {"kv_cache_gib": 78.3, "kv_cache_tokens": 3731744}


def test_cause_precedes_its_consequences(read_log) -> None:
    cause = "Executor creation failed due to insufficient GPU memory."
    log = read_log(
        "trtllm",
        f"[07/08/2025-19:47:15] [TRT-LLM] [RANK 1] [E] Failed to initialize executor on rank 1: {cause}\n"
        "\nThe following component could not be created: KV cache\n"
        f"RuntimeError: {cause}\n",
    )
    assert log.reading.errors == [cause, "The following component could not be created: KV cache"]
    assert log.marks("failure")[0] == f"The executor does not fit in the accelerator's memory. {cause}"


TABLE = """{head}Executor creation failed due to insufficient GPU memory.

The following component could not be created: {component}
Total GPU memory (GiB): 95.00
Free GPU memory before component creation attempt (GiB): 16.95

Previously created components and free GPU memory before/after creation (GiB):
Model: 94.30 / 47.83
"""
NO_MEMORY = "Not enough GPU memory for {component}: 16.95 of 95.00 GiB free."


@pytest.mark.parametrize("head", ["RuntimeError: ", "[TRT-LLM] [E] Failed to initialize executor on rank 0: "])
@pytest.mark.parametrize(
    ("component", "words"),
    [("Additional executor resources", "additional executor resources"), ("KV cache", "KV cache")],
)
def test_memory_table_is_the_cause_in_one_sentence(head: str, component: str, words: str, read_log) -> None:
    text = TABLE.format(head=head, component=component)
    engine = first_match(ENGINES, text)
    assert engine is not None and engine.name == "trtllm"
    log = read_log("trtllm", text)
    sentence = NO_MEMORY.format(component=words)
    assert log.reading.errors[0] == sentence
    assert sentence in log.marks("failure")


UNKNOWN = "model type `m5` but Transformers does not recognize this architecture"
FAILED = "Failed to initialize executor on rank 0: The checkpoint you are trying to load"


def test_unknown_architecture_precedes_its_key(read_log) -> None:
    log = read_log("trtllm", f"[TRT-LLM] [E] starts\nKeyError: 'm5'\nValueError: The checkpoint has {UNKNOWN}.\n")
    assert log.reading.errors == [UNKNOWN, "KeyError: 'm5'"]


@pytest.mark.parametrize("cut", ["type `m5` but Transformers does not", "type `m5` but Transformers", "type `m5`"])
def test_an_unknown_architecture_is_read_where_a_terminal_cut_it(cut: str, read_log) -> None:
    sentence = f"[TRT-LLM] [E] {FAILED} has {UNKNOWN}. This could be because of an issue\nKeyError: 'm5'\n"
    assert read_log("trtllm", sentence.replace(f"{cut} ", f"{cut}\n")).reading.errors == [UNKNOWN, "KeyError: 'm5'"]


def test_a_wrapped_sentence_is_one_cause_before_its_wrapper(read_log) -> None:
    text = f"[TRT-LLM] [E] {FAILED}\n  has {UNKNOWN}.\nKeyError: 'm5'\nValueError: ... {UNKNOWN} ...\n"
    log = read_log("trtllm", text)
    assert log.reading.errors == [UNKNOWN, "KeyError: 'm5'", FAILED]
    assert log.marks("failure")[1].startswith("The installed Transformers does not know the model's architecture.")


@pytest.mark.parametrize("bare", ["AssertionError", "KeyError: 'm5'", "NotImplementedError:", "mpi4py.MPI.Exception"])
def test_an_exception_with_a_message_precedes_one_without(bare: str, read_log) -> None:
    wrapper = "RuntimeError: Executor worker returned error"
    log = read_log("trtllm", f"{wrapper}\n{bare}\nValueError: rank 3 has no such layer\n")
    assert log.reading.errors == ["ValueError: rank 3 has no such layer", bare, wrapper.partition(": ")[2]]


def test_exception_is_fatal_only_before_ready(read_log) -> None:
    ready, error = "INFO:     Application startup complete.\n", "ValueError: no such adapter\n"
    assert read_log("trtllm", error).reading.errors == ["ValueError: no such adapter"]
    log = read_log("trtllm", ready + error)
    assert log.reading.errors == []
    assert log.marks("warning") == ["A request failed; the server keeps running: ValueError: no such adapter"]


def test_a_sample_in_the_stores_terms() -> None:
    fields = {
        "iter": 8,
        "num_scheduled": 4,
        "host_step_ms": 12.5,
        "kv_cache_usage_pct": 12.5,
        "global_rank": 0,
        **STATES,
    }
    sample = log_sample("run", ParsedSample(1, 0, fields), NOW, "stamp")
    assert (sample.definition, sample.kind, sample.rank) == ("trtllm.log", "iteration", "0")
    assert (sample.window_s, sample.requests_running, sample.kv_usage_ratio) == (0.0125, 4, 0.125)
    assert sample.generation_tps is None  # its tokens count padding
    assert sample.extra["num_generation_tokens"] == 3


def test_its_logs_are_recognised() -> None:
    engine = first_match(ENGINES, FORMS["August 2025"][0])
    assert engine is not None and engine.name == "trtllm"


def test_a_model_that_triton_could_not_create(read_log) -> None:
    cause = "maxTokensInPagedKvCache must be large enough to process at least 1 sequence to completion"
    head = "E1128 16:31:49.479096 227 backend_model.cc:634] ERROR: Failed to create instance: "
    log = read_log("trtllm", f"{head}unexpected error when creating modelInstanceState: {cause}\n")
    assert log.reading.errors == [cause]


STATISTICS = (
    '{"Active Request Count":9,"Context Requests":2,"Free KV cache blocks":480,"Generation Requests":5,'
    '"Iteration Counter":90,"Max KV cache blocks":640,"Scheduled Requests":7,"Timestamp":"12-13-2023 14:55:14",'
    '"Tokens per KV cache block":64,"Total Context Tokens":2048,"Used KV cache blocks":160}'
)


@pytest.mark.parametrize("width", [0, 100, 120])
@pytest.mark.parametrize("head", ["I1218 03:35:37.688135 20559 libtensorrtllm.cc:1205] ", "[TensorRT-LLM][INFO] "])
def test_statistics_of_the_cpp_runtime(head: str, width: int, read_log) -> None:
    text = head + STATISTICS
    lines = [text[i : i + width] for i in range(0, len(text), width)] if width else [text]
    log = read_log("trtllm", "".join(f"{line}\n" for line in [*lines, text]))
    sample = {
        "iter": 90, "num_active": 9, "num_scheduled": 7, "num_ctx_requests": 2, "num_generation_requests": 5,
        "num_ctx_tokens": 2048, "kv_cache_usage_pct": 25.0,
    }  # fmt: skip
    assert [(s.line, s.fields) for s in log.samples] == [(1, sample), (len(lines) + 1, sample)]
    assert log.reading.startup == {"kv_blocks": 640, "tokens_per_block": 64, "kv_cache_tokens": 40960}


def test_active_requests_may_wait_and_are_not_those_that_run() -> None:
    sample = log_sample("run", ParsedSample(1, 0, {"iter": 200, "num_active": 3}), NOW, "stamp")
    assert sample.requests_running is None and sample.extra["num_active"] == 3


@pytest.mark.parametrize("gap", ["\\n", " "])
def test_a_cause_ends_before_its_stack(gap: str, read_log) -> None:
    cause = "CUDA runtime error in cudaMallocAsync(ptr, n): out of memory (/app/tensorrt_llm/a.h:125)"
    log = read_log(
        "trtllm", f"[ERROR] {cause}{gap}1       0x7f45c6d96865 void tensorrt_llm::check(char const*) + 149\n"
    )
    assert log.reading.errors == [cause]
