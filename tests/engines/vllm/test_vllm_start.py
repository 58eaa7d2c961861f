"""The start of a server in vLLM's log: its facts, phases and warnings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines.base import StartupFact
from engines.vllm.log import log_parser, recognises
from engines.vllm.startup import kv_tokens_definition

FIXTURES = Path(__file__).parents[2] / "fixtures" / "vllm"
NOW = datetime(2026, 11, 20, tzinfo=UTC)
CORE = "(EngineCore pid=2) INFO 05-20 01:43:25 [core.py:1] "
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
    "Free memory on device (46.99/47.37 GiB) on startup. Desired GPU memory utilization is (0.85, 40.27 GiB). Actual "
    "usage is 2.81 GiB for consumed memory (weights + non-torch), 0.57 GiB for peak activation, and 0.22 GiB for "
    "CUDAGraph memory.": {
        "free_memory_gib": 46.99,
        "gpu_memory_gib": 47.37,
        "gpu_memory_utilization": 0.85,
        "weights_gib": 2.81,
        "activation_peak_gib": 0.57,
    },
    "Estimated CUDA graph memory: 6.24 GiB total": {"estimated_graph_gib": 6.24},
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
    "Filesystem type for checkpoints: EXT4. Checkpoint size: 23.32 GiB. Available RAM: 56.66 GiB.": {
        "model_file_gib": 23.32
    },
    "Initial free memory 31.16 GiB, reserved 4.25 GiB memory for KV Cache as specified by kv_cache_memory_bytes": {
        "free_memory_gib": 31.16,
        "reserved_kv_gib": 4.25,
    },
    "Available memory: 11381826560, total memory: 65452113920": {
        "available_kv_gib": 10.6,
        "available_kv_gib_per_rank": [10.6],
        "gpu_memory_gib": 60.96,
        "kv_cache_bytes": 11381663334,
    },
    "total_gpu_memory     79.22GiB": {"gpu_memory_gib": 79.22},
    "gpu_memory_utilization       0.90": {"gpu_memory_utilization": 0.9},
    "model weights take   14.96GiB": {"model_load_gib": 14.96},
    "PyTorch activation peak memory       1.26GiB": {"activation_peak_gib": 1.26},
    "available_kv_cache_memory    53.29GiB": {
        "available_kv_gib": 53.29,
        "available_kv_gib_per_rank": [53.29],
        "kv_cache_bytes": 57219701801,
    },
    "Actual usage: 51.68 GiB for weights, 0.29 GiB for peak activation, 0.51 GiB for non-torch memory. Current KV "
    "cache memory: 5.15 GiB.": {"weights_gib": 51.68, "activation_peak_gib": 0.29, "kv_cache_gib": 5.15},
    "Auto-fit max_model_len: reduced from 262144 to 172032 to fit in available GPU memory (3.01 GiB available for KV "
    "cache)": {"max_model_len": 172032},
    "Auto-fit max_model_len: full model context length 1048576 fits in available GPU memory": {
        "max_model_len": 1048576
    },
    "Chunked prefill is enabled with max_num_batched_tokens=2048.": {"max_num_batched_tokens": 2048},
    "Using fp8_e4m3 data type to store kv cache. It reduces the GPU memory footprint and boosts the performance.": {
        "kv_cache_dtype": "fp8_e4m3"
    },
    "CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.9000 is "
    "equivalent to --gpu-memory-utilization=0.8981 without CUDA graph memory profiling. To maintain the same effective "
    "KV cache size as before, increase --gpu-memory-utilization to 0.9019.": {"gpu_memory_utilization": 0.9},
    "the current vLLM instance can use total_gpu_memory (23.65GiB) x gpu_memory_utilization (0.90) = 21.28GiB": {
        "gpu_memory_gib": 23.65,
        "gpu_memory_utilization": 0.9,
    },
    "Memory profiling results: total_gpu_memory=23.65GiB initial_memory_usage=14.47GiB peak_torch_memory=15.11GiB "
    "memory_usage_post_profile=14.53GiB non_torch_memory=0.17GiB kv_cache_size=6.00GiB gpu_memory_utilization=0.90": {
        "kv_cache_gib": 6.0,
        "gpu_memory_gib": 23.65,
        "gpu_memory_utilization": 0.9,
    },
    "Using Rocm/Aiter Unified Attention backend on V1 engine.": {"attention_backend": "Rocm/Aiter Unified Attention"},
    "Using Flash Attention backend on V1 engine.": {"attention_backend": "Flash Attention"},
    "Using FlashMLA backend on V1 engine.": {"attention_backend": "FlashMLA"},
    "Using IPEX attention backend.": {"attention_backend": "IPEX"},
    "Using FLASH_ATTN backend.": {"attention_backend": "FLASH_ATTN"},
    "Using FLASHINFER attention backend out of potential backends: ['FLASHINFER', 'TRITON_ATTN'].": {
        "attention_backend": "FLASHINFER"
    },
    "Using TRITON_ATTN backend (selected via --attention-backend).": {"attention_backend": "TRITON_ATTN"},
    "Using Torch SDPA backend for ViT model.": {"vision_attention_backend": "Torch SDPA"},
    "Using Flash Attention backend for ViT model.": {"vision_attention_backend": "Flash Attention"},
    "Using FLASH_ATTN backend (selected automatically) for the vision encoder.": {
        "vision_attention_backend": "FLASH_ATTN"
    },
    "Using backend AttentionBackendEnum.FLASH_ATTN for vit attention": {"vision_attention_backend": "FLASH_ATTN"},
    "Using AttentionBackendEnum.TORCH_SDPA for MMEncoderAttention.": {"vision_attention_backend": "TORCH_SDPA"},
}


@pytest.mark.parametrize("texts", [(0, 1), (1, 0)])
def test_attention_backend_is_that_of_the_language_model(texts: tuple[int, int], read_log) -> None:
    lines = ("Using AttentionBackendEnum.FLASH_ATTN for MMEncoderAttention.\n", "Using FLASHINFER backend.\n")
    log = read_log("vllm", "".join(f"{CORE}{lines[index]}" for index in texts))
    assert log.reading.startup == {"attention_backend": "FLASHINFER", "vision_attention_backend": "FLASH_ATTN"}


@pytest.mark.parametrize("text", FACTS)
@pytest.mark.parametrize("head", ["", CORE, "INFO 05-20 01:43:25 worker.py:1] "])
def test_startup_fact(text: str, head: str, read_log) -> None:
    log = read_log("vllm", head + text + "\n")
    assert log.reading.startup == FACTS[text]
    assert {event.key for event in log.events if isinstance(event, StartupFact)} <= set(FACTS[text])
    assert log.marks("startup") == [text.strip()]


def test_usable_value_of_several_workers_counts(read_log) -> None:
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


def test_second_start_in_one_log_is_its_own_run(read_log) -> None:
    start = f"{CORE}Initializing a V1 LLM engine (v0.19.1) with config: model='m', quantization=fp8, max_seq_len=100,\n"
    log = read_log("vllm", f"{start}{CORE}GPU KV cache size: 10 tokens\n{start}{CORE}GPU KV cache size: 20 tokens\n")
    assert log.reading.version == "0.19.1"
    assert [run["kv_cache_tokens"] for run in log.reading.startup["runs"]] == [10, 20]
    assert log.reading.startup["kv_cache_tokens"] == 20
    assert (log.reading.startup["quantization"], log.reading.startup["max_model_len"]) == ("fp8", 100)


@pytest.mark.parametrize(
    ("name", "version"),
    [("a V0 LLM engine (v0.8.1)", "0.8.1"), ("an LLM engine (v0.6.3)", "0.6.3"), ("an LLM engine", None)],
)
def test_engine_line_of_each_generation(name: str, version: str | None, read_log) -> None:
    config = "model='m', max_seq_len=16000, download_dir=None"
    text = f"INFO 04-07 08:49:47 [llm_engine.py:241] Initializing {name} with config: {config}\n"
    reading = read_log("vllm", text).reading
    assert (reading.version, reading.startup) == (version, {"max_model_len": 16000})
    assert recognises(text)


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


STALL = (
    "(EngineCore pid=2) INFO 05-20 01:44:25 [shm_broadcast.py:8] "
    "No available shared memory broadcast block found in 60 seconds. This happens when\n"
)


def test_workers_that_take_nothing_are_warned_of_while_serving(read_log) -> None:
    ready = "(APIServer pid=1) INFO:     Application startup complete.\n"
    (warning,) = read_log("vllm", f"{STALL}{ready}{STALL}{STALL}").marks("warning")
    assert warning.startswith("A worker took no work from the engine")
    assert read_log("vllm", f"{STALL}{STALL}").marks("warning") == [], "a start compiles"


def test_version_and_method_are_facts_once() -> None:
    start = (
        b"INFO 01-01 21:15:20 [api_server.py:1] vLLM API server version 0.21.0\n"
        b"INFO 01-01 21:15:21 [core.py:93] Initializing a V1 LLM engine (v0.21.0) with config: model='m', "
        b"speculative_config=SpeculativeConfig(method='draft_model', model='/srv/draft', num_spec_tokens=3), dtype=x\n"
    )
    rows = [(one.key, one.value) for one in log_parser().feed(start) if isinstance(one, StartupFact)]
    assert rows.count(("engine_version", "0.21.0")) == 1
    assert ("speculative_method", "draft_model") in rows and ("num_spec_tokens", 3) in rows


def test_padding_of_the_kv_cache_is_a_warning(read_log) -> None:
    head = "(EngineCore pid=2) WARNING 06-23 10:27:23 [kv_cache_utils.py:1152] "
    log = read_log("vllm", f"{head}Add 6 padding layers, may waste at most 60.00% KV cache memory\n")
    assert log.marks("warning") == [
        "6 padding layers were added to the KV cache: up to 60.00 % of its memory is wasted."
    ]


@pytest.mark.parametrize("head", ["(VllmWorkerProcess pid=5) INFO 04-12 08:21:19 [worker.py:267] ", ""])
def test_memory_of_a_worker_of_the_first_engine(head: str, read_log) -> None:
    text = (
        f"{head}model weights take 21.25GiB; non_torch_memory takes 0.25GiB; PyTorch activation peak memory takes "
        "0.5GiB; the rest of the memory reserved for KV Cache is 1.5GiB.\n"
    )
    assert recognises(text)
    startup = read_log("vllm", text).reading.startup
    assert (startup["model_load_gib"], startup["available_kv_gib"]) == (21.25, 1.5)


@pytest.mark.parametrize("module", ["model_runner", "arg_utils", "default_loader", "ray_gpu_executor"])
def test_records_of_its_modules_are_its_own(module: str) -> None:
    assert recognises(f"INFO 04-12 08:21:19 [{module}.py:267] something\n")
    assert recognises(f"INFO 04-12 08:21:19 {module}.py:267] something\n")


@pytest.mark.parametrize(
    "line",
    [
        "vLLM: 0.27.2rc1.dev77+gac7509e2b.xpu",
        "vLLM Version                 : 0.27.2rc1.dev77+gac7509e2b.xpu",
        "vLLM Version 0.27.2rc1.dev77+gac7509e2b.xpu",
        f"{CORE}Initializing a V1 LLM engine (v0.27.2rc1.dev77+gac7509e2b.xpu) with co",
    ],
)
def test_version_in_other_words(line: str, read_log) -> None:
    assert read_log("vllm", f"{line}\nvLLM XPU kernels: 0.1.12.3\n").reading.version == "0.27.2rc1.dev77+gac7509e2b.xpu"


def test_passes_are_those_of_one_worker_of_ray(read_log) -> None:
    def record(pid: int, text: str) -> str:
        return (
            f"(EngineCore_0 pid=9) (RayWorkerWrapper pid={pid}, ip=10.0.0.{pid}) INFO 02-12 13:31:04 [a.py:1] {text}\n"
        )

    head = f"{CORE}Initializing a V1 LLM engine (v0.10.1) with config: model='m', tensor_parallel_size=4, dtype=x)\n"
    memory = record(7, "Available KV cache memory: 45.25 GiB")
    log = head + "".join(
        record(pid, text)
        for pid in (7, 8)
        for text in ("torch.compile takes 14.5 s in total", "Dynamo bytecode transform time: 2.5 s")
    )
    startup = read_log("vllm", log + memory + memory).reading.startup
    assert (startup["compile_s"], startup["dynamo_s"]) == (14.5, 2.5)
    assert "kv_cache_bytes" not in startup  # of four workers two have told their memory
    assert read_log("vllm", head + memory * 4).reading.startup["kv_cache_bytes"] == 181 * 2**30


def test_file_size_is_that_of_the_target(read_log) -> None:
    sizes = "".join(f"{CORE}Filesystem type: EXT4. Checkpoint size: {size} GiB. Available\n" for size in (15.25, 0.75))
    assert read_log("vllm", sizes).reading.startup["model_file_gib"] == 15.25


def test_context_length_is_that_of_the_target(read_log) -> None:
    lengths = "".join(f"{CORE}Using max model len {length}\n" for length in (65536, 1048576))
    assert read_log("vllm", lengths).reading.startup["max_model_len"] == 65536
    fitted = f"{CORE}Auto-fit max_model_len: reduced from 65536 to 4096 to fit in available GPU memory\n"
    assert read_log("vllm", lengths + fitted).reading.startup["max_model_len"] == 4096


def test_limit_of_a_default_configuration_is_none(read_log) -> None:
    limit = "INFO 05-20 01:43:25 [scheduler.py:230] Chunked prefill is enabled with max_num_batched_tokens={}.\n"
    default = "WARNING 05-20 01:43:25 [vllm.py:1406] Current vLLM config is not set.\n" + limit.format(2048)
    startup = read_log("vllm", default + limit.format(8192) + default).reading.startup
    assert startup == {"max_num_batched_tokens": 8192}


def test_a_missing_kv_cache_has_no_size(read_log) -> None:
    startup = read_log("vllm", f"{CORE}Available KV cache memory: -2.14 GiB\n").reading.startup
    assert startup == {"available_kv_gib": -2.14, "available_kv_gib_per_rank": [-2.14]}
