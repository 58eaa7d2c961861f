"""Model file and context as llama.cpp prints them while it starts, in the words of its releases."""

from __future__ import annotations

import pytest

from engines import BY_NAME

START = """\
print_info: n_ctx_train      = 40960
print_info: file type   = Q4_K - Medium
print_info: file size   = 512.00 MiB (4.91 BPW)
load_tensors: offloaded 25/37 layers to GPU
{context}: n_seq_max     = 4
{context}: n_ctx         = 16384
{context}: {per_sequence} = 4096
{context}: n_batch       = 1024
{context}: n_ubatch      = 256
{context}: flash_attn    = {flash}
{context}: kv_unified    = false
llama_kv_cache: size =  612.00 MiB (  4096 cells,  36 layers,  4/4 seqs), K ({k}):  306.00 MiB, V ({v}):  306.00 MiB
llama_memory_recurrent: size =    1.50 MiB (     4 cells,  12 layers,  4 seqs), R (f32):    0.50 MiB, S (f32):    1.00 MiB
"""  # noqa: E501
NOW = {"context": "llama_context", "per_sequence": "n_ctx_seq", "flash": "enabled", "k": "q8_0", "v": "q8_0"}
FACTS = {
    "n_ctx_train": 40960,
    "quantization": "Q4_K - Medium",
    "model_file_gib": 0.5,
    "layers_on_gpu": 25,
    "layers": 37,
    "n_seq_max": 4,
    "n_ctx": 16384,
    "context_len": 4096,
    "n_batch": 1024,
    "n_ubatch": 256,
    "flash_attention": True,
    "kv_unified": False,
    "kv_cache_bytes": 612 << 20,
    "kv_cache_dtype": "q8_0",
    "kv_cache_tokens": 16384,
    "recurrent_state_bytes": 3 << 19,
}


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"per_sequence": "n_ctx_per_seq", "flash": "1"},
        {"context": "llama_new_context_with_model", "per_sequence": "n_ctx_per_seq", "flash": "1"},
    ],
)
def test_context_and_model_file_are_facts_of_the_run(words: dict[str, str], read_log) -> None:
    text = START.format(**{**NOW, **words})
    assert read_log("llamacpp", text).reading.startup == FACTS
    stamped = "".join(f"0.01.000.{n:03d} I {line}\n" for n, line in enumerate(text.splitlines()))
    assert read_log("llamacpp", stamped).reading.startup == FACTS


@pytest.mark.parametrize(
    "resolved",
    [
        "llama_context: Flash Attention was auto, set to disabled\n",
        "0.04.097.022 W resolve_fused_ops: Flash Attention not supported, set to disabled\n",
    ],
)
def test_flash_attention_left_to_the_server_is_no_fact_until_it_decides(resolved: str, read_log) -> None:
    startup = read_log("llamacpp", START.format(**{**NOW, "flash": "auto"})).reading.startup
    assert "flash_attention" not in startup
    text = START.format(**{**NOW, "flash": "auto"}) + resolved
    log = read_log("llamacpp", text)
    assert log.reading.startup["flash_attention"] is False
    assert log.marks("warning") == ["Flash attention is off: this model or device lacks it."]


def test_a_model_that_is_loaded_again_is_a_start_of_its_own(read_log) -> None:
    load = "main: loading model\nsrv    load_model: loading model 'a.gguf'\n" + START.format(**NOW)
    ready = "main: model loaded\nmain: server is listening on http://h\n"
    startup = read_log("llamacpp", load + ready + load + ready).reading.startup
    assert startup["runs"] == [FACTS | {"ready": True}] * 2
    assert startup["kv_cache_bytes"] == FACTS["kv_cache_bytes"]


def test_different_types_of_k_and_v_are_told_apart(read_log) -> None:
    startup = read_log("llamacpp", START.format(**{**NOW, "v": "f16"})).reading.startup
    assert "kv_cache_dtype" not in startup
    assert (startup["k_cache_dtype"], startup["v_cache_dtype"]) == ("q8_0", "f16")


def test_context_of_the_drafter_is_none_of_the_server(read_log) -> None:
    drafter = START.replace("16384", "777").replace("Q4_K - Medium", "Q2_K")
    text = START.format(**NOW) + "srv    load_model: loading draft model 'd.gguf'\n" + drafter.format(**NOW)
    startup = read_log("llamacpp", text).reading.startup
    assert (startup["n_ctx"], startup["quantization"]) == (16384, "Q4_K - Medium")


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("main: build = 3485 (6e2b6000)", "b3485"),
        ("build: 1 (4d688f9) with Clang 22.0.0 for Linux", "b1"),
        ('INFO [                    main] build info | tid="1" timestamp=17 build=3485 commit="6e2b6000"', "b3485"),
        ("version: 0.2.0-dev (build 10586, commit b21e4de74)", "b10586"),
        ("0.00.073.302 I common_params_print_info: build 9219 (49b42c9c3) with GNU 13.3.0 for Linux x86_64", "b9219"),
        ('{"timestamp":1707396084,"level":"INFO","function":"main","line":2418,"message":"build info","build":2014}',
         "b2014"),
        ('{"tid":"1","timestamp":1713,"level":"INFO","function":"main","line":29,"msg":"build info","build":2690}',
         "b2690"),
    ],
)  # fmt: skip
def test_build_in_the_words_of_its_time(line: str, version: str, read_log) -> None:
    assert BY_NAME["llamacpp"].log and BY_NAME["llamacpp"].log.recognises(
        f"{line}\nllama server listening at http://h\n"
    )
    assert read_log("llamacpp", line).reading.version == version


def test_server_of_2024_that_logs_json_is_ready(read_log) -> None:
    text = '{"timestamp":1,"level":"INFO","function":"main","line":25,"message":"HTTP server listening","port":"80"}\n'
    assert read_log("llamacpp", text).reading.startup == {"ready": True}


def test_llama_box_is_ready(read_log) -> None:
    head = "[2025-07-21 06:52:38.758083] I srv                     start: "
    assert read_log("llamacpp", f"{head}listening host = ::, port = 4\n").reading.startup == {}
    assert read_log("llamacpp", f"{head}server is ready\n").reading.startup == {"ready": True}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("common_fit_params: failed to fit params to free device memory: n_gpu_layers already set", "not fitted"),
        ("load_model: the slot context (8192) exceeds the training context of the model (4096) - capping", "longer"),
        ("slot update_slots: id  0 | task 5 | forcing full prompt re-processing due to lack of cache data", "again"),
        ("srv    load_model: cache_reuse is not supported by this context, it will be disabled", "is off"),
    ],
)
def test_warnings_that_cost_speed(line: str, sentence: str, read_log) -> None:
    (warning,) = read_log("llamacpp", f"0.00.354.701 W {line}\n").marks("warning")
    assert sentence in warning


def test_context_below_that_of_the_training(read_log) -> None:
    line = (
        "llama_context: n_ctx_seq (4096) < n_ctx_train (40960) -- the full capacity of the model will not be utilized\n"
    )
    assert read_log("llamacpp", line).reading.startup == {"context_len": 4096, "n_ctx_train": 40960}


@pytest.mark.parametrize(
    "text",
    [
        '{"function":"initialize","level":"INFO","line":433,"msg":"initializing slots","n_slots":2}\n'
        '{"function":"initialize","level":"INFO","line":445,"msg":"new slot","n_ctx_slot":2048,"slot_id":0}\n',
        'INFO [              initialize] initializing slots | tid="1" timestamp=1713 n_slots=2\n'
        'INFO [              initialize] new slot | tid="1" timestamp=1713 slot_id=0 n_ctx_slot=2048\n',
    ],
)
def test_slots_of_2024(text: str, read_log) -> None:
    assert read_log("llamacpp", text).reading.startup == {"max_running_requests": 2, "context_len": 2048}


def test_lines_that_another_program_passes_on(read_log) -> None:
    head = "2:32AM DBG GRPC(m-8b-127.0.0.1:43767): stderr "
    text = (
        f"{head}llm_load_tensors: offloaded 33/33 layers to GPU\n"
        f"{head}llm_load_tensors:        CUDA0 model buffer size =  1024.00 MiB\n"
    )
    grammar = BY_NAME["llamacpp"].log
    assert grammar and grammar.recognises(text)
    assert read_log("llamacpp", text).reading.startup == {"layers_on_gpu": 33, "layers": 33, "model_load_gib": 1.0}


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (
            "llama_new_context_with_model: KV self size  = 1005.00 MiB, c^KV (q8_0): 1005.00 MiB, kv^T: not used",
            {"kv_cache_bytes": 1005 << 20, "kv_cache_dtype": "q8_0"},
        ),
        (
            "llama_model_loader: - kv   2:                       llama.context_length u32              = 4096",
            {"n_ctx_train": 4096},
        ),
        (
            "llama_kv_cache_unified: size =  992.00 MiB (  4096 cells,  62 layers,  1/ 1 seqs), K (f16):  496.00 MiB, "
            "V (f16):  496.00 MiB",
            {"kv_cache_bytes": 992 << 20, "kv_cache_dtype": "f16", "kv_cache_tokens": 4096},
        ),
        (
            "llama_kv_cache_init: kv_size = 8192, offload = 1, type_k = 'q8_0', type_v = 'q8_0', n_layer = 28",
            {"kv_cache_tokens": 8192, "kv_cache_dtype": "q8_0"},
        ),
        (
            "llama_kv_cache_unified: kv_size = 4096, type_k = 'f16', type_v = 'q4_0', n_layer = 28, can_shift = 1",
            {"kv_cache_tokens": 4096, "k_cache_dtype": "f16", "v_cache_dtype": "q4_0"},
        ),
    ],
)
def test_cache_and_file_in_the_words_of_their_time(line: str, facts: dict[str, object], read_log) -> None:
    assert read_log("llamacpp", line + "\n").reading.startup == facts


def test_layers_of_the_same_file_that_draft_are_the_drafters(read_log) -> None:
    target = "load_tensors:        CUDA0 model buffer size =  2048.00 MiB\n"
    partial = (
        "done_getting_tensors: partial load — used 23 of 753 tensors in the file (rest belong to a sibling model)\n"
    )
    startup = read_log("llamacpp", f"{target}{partial}{target.replace('2048', ' 512')}").reading.startup
    assert startup == {"model_load_gib": 2.0, "draft_load_gib": 0.5}


@pytest.mark.parametrize("head", ["main: ", "0.00.120.000 I srv  llama_server: "])
def test_slots_that_the_server_chooses(head: str, read_log) -> None:
    text = f"{head}n_parallel is set to auto, using n_parallel = 4 and kv_unified = true\n"
    assert read_log("llamacpp", text).reading.startup == {"max_running_requests": 4, "kv_unified": True}
