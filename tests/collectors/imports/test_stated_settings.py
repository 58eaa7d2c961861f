"""Settings of the server in the words around results: read if a single one is stated, else unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.prose.stated_settings import read_settings
from tests.collectors.imports.captured import load_of, loads_of, results_of

MODELS = {
    "a setting": ("**Config:** DeepSeek-R1-0528 | FP8 | TP=8", "DeepSeek-R1-0528"),
    "settings in a row": ("model=gpt2-8 prompt=512tok gen=64", "gpt2-8"),
    "a label": ("- **Model**: Qwen3 32B FP8, measured beside Llama-3.1-8B", "Qwen3 32B FP8"),
    "a command": ("vllm serve o/m-7b --port 1\nQwen3-8B was slower", "o/m-7b"),
    "a command with blanks": ("bench.py  --model  /data/o/m-7b/ --n 1\nQwen3-8B was slower", "/data/o/m-7b"),
    "a name and its repository": ("Llama-3.1-8B is meta-llama/Llama-3.1-8B here", "meta-llama/Llama-3.1-8B"),
    "two models": ("Qwen3-8B against Llama-3.1-8B", None),
    "two sizes": ("LLaMA 7B Q4_0 against Qwen2.5-Coder 7B", None),
    "a size": ("Llama 3.1 8B in BF16", "Llama 3.1 8B"),
    "two labels": ("Model: a-1\nModel: b-2", None),
    "programs": ("llama-bench of llama-b4696, in llama-4.log", None),
    "a parser": ("--reasoning-parser qwen3 --tool-call-parser deepseek_v3", None),
    "a link": ("https://huggingface.co/Qwen/Qwen3-8B", None),
    "a sentence": ("The model: it is the one that we all use since 2024", None),
}


@pytest.mark.parametrize(("text", "model"), MODELS.values(), ids=MODELS)
def test_model(text: str, model: str | None) -> None:
    assert read_settings(text).model == model


DEGREES = {
    "TP=8, EP=1": 8, "tensor parallel size 4": 4, "--tensor-parallel-size 2": 2, "tp 4": 4, "-tp 4": 4,
    "4P[TP=1]1D[TP=4]": None, "HTTP 200": None, "TP99 12": None, "TP 4.5": None, "": None,
    "2 GPUs, then 1 GPU with TP=1": None,
}  # fmt: skip
ENGINES = {
    "SGLang v0.5.7": "SGLang 0.5.7", "vLLM (0.11.0)": "vLLM 0.11.0", "vLLM 0.11 and SGLang 0.5": None,
    "vLLM 0.10.1 to vLLM 0.11.0": None, "vLLM on H100": None, "llm-scaler-vllm 1.4": None,
    "vLLM 0.11.0 against Ollama": None, "llama.cpp b6500": "llama.cpp b6500",
    "llama.cpp (build 6500)": "llama.cpp b6500",
    "vLLM 0.11.0 against vLLM nightly": None, "vLLM 0.11.0 against llama.cpp": None,
}  # fmt: skip


GPUS = {
    "RTX 5090": "RTX 5090", "on 2x H100 SXM5 80GB": "2x H100", "NVIDIA A100-80GB x 8": "8x A100",
    "4x3090": "4x RTX 3090",
    "dual RTX 3090s": "2x RTX 3090", "two RTX 3090, later 3 x 3090": "RTX 3090", "Apple M4 Max": "M4 Max",
    "MI300X": "MI300X", "2x L40s": "2x L40S", "an L40 48GB": "L40",
    "RX 7900 XTX": "RX 7900 XTX", "RTX PRO 6000 Blackwell": "RTX PRO 6000 Blackwell",
    "H100 against A100": None, "RTX 4090 or RTX 4090 Ti": "RTX 4090 Ti", "p99 3090 ms, 4x 3090 tok/s": None, "": None,
    "/opt/H100/run.sh": None,
}  # fmt: skip
QUANTIZATIONS = {
    "AWQ": "AWQ", "a Q4_K_M quant": "Q4_K_M", "Qwen3-32B-FP8": "FP8", "qwen3-8b-q4_k_m.gguf": "Q4_K_M",
    "AWQ INT4, so AWQ": "AWQ INT4", "UD-Q4_K_XL": "UD-Q4_K_XL", "MXFP4": "MXFP4", "FP8 against BF16": None,
    "--quantization fp8 --kv-cache-dtype fp8_e5m2": "FP8", "-ctk q8_0 -ctv q8_0": None, "an FP8 KV cache": None,
    "AWQ with q8_0 KV": "AWQ", "KV cache in FP8": None, "fp8_gemm": None, "": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "gpu"), GPUS.items())
def test_gpu(text: str, gpu: str | None) -> None:
    assert read_settings(text).gpu == gpu


@pytest.mark.parametrize(("text", "quantization"), QUANTIZATIONS.items())
def test_quantization(text: str, quantization: str | None) -> None:
    assert read_settings(text).quantization == quantization


@pytest.mark.parametrize(("text", "degree"), DEGREES.items())
def test_tensor_parallel(text: str, degree: int | None) -> None:
    assert read_settings(text).tensor_parallel == degree


@pytest.mark.parametrize(("text", "engine"), ENGINES.items())
def test_engine(text: str, engine: str | None) -> None:
    assert read_settings(text).engine == engine


def test_a_table_has_what_its_text_states(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text("vLLM 0.11.0, Qwen3-8B, TP=2\n\n| conc | TTFT (ms) |\n|---|---|\n| 4 | 81.5 |\n")
    load = load_of(path)
    assert (load.model, load.server_config, load.params) == (
        "Qwen3-8B", {"tensor_parallel": 2}, {"engine": "vLLM 0.11.0"},
    )  # fmt: skip
    assert load.notes == ["Read from the words around the results: Qwen3-8B, vLLM 0.11.0, tensor parallel 2."]


COMPARED = {"another": ("Qwen3-4B (Q4_K_M)", None), "its own": ("**Qwen3-0.6B** BF16", "Qwen3-0.6B")}


@pytest.mark.parametrize(("cell", "model"), COMPARED.values(), ids=COMPARED)
def test_a_labelled_model_is_unknown_if_a_table_has_another(cell: str, model: str | None, tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(f"- Model: Qwen3-0.6B (BF16)\n\n| Model | Decode (tok/s) |\n|---|---|\n| {cell} | 31.98 |\n")
    assert load_of(path).model == model


def test_an_engine_beside_a_program_that_is_none_of_the_list() -> None:
    assert read_settings("Ollama 0.9.5 (ROCm) vs LM Studio (Vulkan)").engine is None
    assert read_settings("Ollama 0.9.5 (ROCm)").engine == "Ollama 0.9.5"


def test_letters_of_another_script_end_the_name_of_a_model() -> None:
    assert read_settings("目前安装完DeepSeek-R1-671B后，速度 6.5 tokens/s").model == "DeepSeek-R1-671B"


def test_a_gpu_and_a_quantization_are_those_of_the_load(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text("| GPU | NVIDIA RTX 5090 |\n|---|---|\n| CPU | big |\n\nDecode with Q4_K_M: 45.5 tok/s\n")
    load = load_of(path)
    assert (load.params, load.server_config) == ({"gpu": "RTX 5090"}, {"quantization": "Q4_K_M"})
    assert load.notes == ["Read from the words around the results: RTX 5090, Q4_K_M."]


def test_tools_loads_have_what_the_text_states(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "vLLM 0.11.0, 2x H100, small-8B in FP8\n\n============ Serving Benchmark Result ============\n"
        "Successful requests: 100\nOutput token throughput (tok/s): 1450.25\nMean TTFT (ms): 120.55\n"
    )
    load = load_of(path)
    assert load.tool != "document"
    assert {name: load.params[name] for name in ("engine", "gpu")} == {"engine": "vLLM 0.11.0", "gpu": "2x H100"}
    assert load.server_config == {"quantization": "FP8"}
    assert load.notes[-1] == "Read from the words around the results: vLLM 0.11.0, 2x H100, FP8."


ARMS = {
    "lines": "baseline: decode 45.5 tok/s\nFP8: decode 60.5 tok/s\n",
    "rows": "| quant | decode (tok/s) |\n|---|---|\n| none | 45.5 |\n| FP8 | 60.5 |\n",
    "sentences": "With FP8 it decodes 60.5 tok/s. Without it decodes 45.5 tok/s.\n",
    "an engine": "```\nvLLM 0.11.0\ndecode 45.5 tok/s\n\nthis PR\ndecode 55.5 tok/s\n```\n",
    "a GPU": "| GPU | decode (tok/s) |\n|---|---|\n| RTX 5090 | 45.5 |\n| the old card | 60.5 |\n",
}


@pytest.mark.parametrize("text", ARMS.values(), ids=ARMS)
def test_what_only_some_results_name_is_of_an_arm(tmp_path: Path, text: str) -> None:
    path = tmp_path / "post.md"
    path.write_text(text)
    load = load_of(path)
    assert (load.params, load.server_config) == ({}, {})


def test_the_model_of_an_example_is_not_that_of_tables_of_other_models(tmp_path: Path) -> None:
    table = "| System | Eval Rate |\n|---|---|\n| {} | {} tokens/s |\n\n"
    text = (
        "Run it so:\n\n```\nllama-bench -m models/Tiny-3B-Q4_K_M.gguf\n```\n\n"
        f"### Wide 14b\n\n{table.format('Box A', 45.5)}### Vast 70b\n\n{table.format('Box B', 9.5)}"
    )
    path = tmp_path / "page.md"
    path.write_text(text)
    load = load_of(path)
    assert (load.model, load.server_config) == (None, {})
    assert [row.value for row in results_of(load)] == [45.5, 9.5]


KV_CACHE_TYPES = ("-ctk q4_0 -ctv q4_0 -ctkd q4_0 -ctvd q4_0", "type_k = q8_0", "a q8_0/q8_0 KV cache", "K cache q8_0")


@pytest.mark.parametrize("words", KV_CACHE_TYPES)
def test_the_type_of_a_cache_is_no_quantization(words: str) -> None:
    assert read_settings(words).quantization is None
    assert read_settings(f"{words}, weights in FP8").quantization == "FP8"


EXAMPLES = {
    "an example": ("Model: tiny-8b (default quantization, e.g., Q4_K_M)", None, None),
    "advice": ("You could try AWQ, or try --tp 8", None, None),
    "a warning": ("WARNING: for more speed use --quantization fp8 --tensor-parallel-size 4", None, None),
    "a setting": ("Served in AWQ with --tp 8", "AWQ", 8),
}


@pytest.mark.parametrize(("text", "quantization", "degree"), EXAMPLES.values(), ids=EXAMPLES)
def test_advice_and_examples_are_no_settings(text: str, quantization: str | None, degree: int | None) -> None:
    settings = read_settings(text)
    assert (settings.quantization, settings.tensor_parallel) == (quantization, degree)


QUANTIZATIONS_OF_SOME = {
    "one figure's": ("Card A reaches 45.5 tok/s. Card B reaches 90.5 tok/s with NVFP4.", None),
    "all figures'": ("NVFP4 reaches 45.5 tok/s. With drafts NVFP4 reaches 90.5 tok/s.", "NVFP4"),
    "of the title": ("# NVFP4\n\nCard A reaches 45.5 tok/s. Card B reaches 90.5 tok/s with NVFP4.", "NVFP4"),
    "beside other bits": ("Q4_K_M: 45.5 tok/s, 8-bit: 30.5 tok/s", None),
    "beside no quantization": ("Built for AWQ, compared with the float16 weights", None),
    "of one of the models": ("GPT-OSS 120B (MXFP4) is fast; Qwen3 30B is not.", None),
    "of all models": ("Precision: MXFP4\n\nGPT-OSS 120B is fast; Qwen3 30B is not.", "MXFP4"),
    "with its bits": ("Qwen3-8B in AWQ (4-bit)", "AWQ"),
}


@pytest.mark.parametrize(("text", "quantization"), QUANTIZATIONS_OF_SOME.values(), ids=QUANTIZATIONS_OF_SOME)
def test_a_quantization_is_that_of_all_results(text: str, quantization: str | None) -> None:
    assert read_settings(text).quantization == quantization


def test_a_quantized_model_beside_another_precision(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    command, rule = "vllm serve /data/o/Tiny-8B-FP8 --tensor-parallel-size 2", "|---|---|---|"
    path.write_text(f"{command}\n\n| Context | FP8 + MTP | BF16 |\n{rule}\n| 1k | 64 tok/s | 33 tok/s |\n")
    load = load_of(path)
    assert (load.model, load.server_config) == ("Tiny-8B", {"tensor_parallel": 2, "engine": "vllm"})
    path.write_text(f"{command}\n\n| Context | MTP | EAGLE |\n{rule}\n| 1k | 64 tok/s | 33 tok/s |\n")
    load = load_of(path)
    config = {"tensor_parallel": 2, "quantization": "FP8", "engine": "vllm"}
    assert (load.model, load.server_config) == ("/data/o/Tiny-8B-FP8", config)


def test_precisions_in_a_column_are_those_of_arms(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "vllm serve o/Tiny-8B-AWQ --dtype half\n\n| Backend | Precision | Speed |\n|---|---|---|\n"
        "| A | Q4 GGUF | 64 tok/s |\n| B | bfloat16 | 33 tok/s |\n"
    )
    load = load_of(path)
    assert (load.model, load.server_config) == ("Tiny-8B", {})


def test_an_engine_and_a_parallelism_of_arms(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    heads = "| Setup | Speed |\n|---|---|\n"
    path.write_text(f"Measured with vLLM 0.11.0\n\n{heads}| default | 64 tok/s |\n| TGI | 33 tok/s |\n")
    assert load_of(path).params == {}
    path.write_text(f"Later also with TP=2.\n\n{heads}| default | 33 tok/s |\n| TP=2 | 64 tok/s |\n")
    assert load_of(path).server_config == {}


def test_a_mobile_card_is_another_one() -> None:
    assert read_settings("one RTX 5080 Laptop, 16 GB").gpu == "RTX 5080 Laptop"
    assert read_settings("8x RTX 4090D").gpu == "8x RTX 4090D"


def test_flags_that_a_warning_names_are_none_of_the_load(tmp_path: Path) -> None:
    path = tmp_path / "bench.log"
    path.write_text(
        "Namespace(model='o/tiny-8b', num_prompts=8, max_concurrency=2, temperature=None)\n"
        "WARNING: vllm bench serve no longer sets temperature==0 in requests. For that, include --temperature=0.\n"
        "tip: install gnuplot to plot the metrics\n"
        "============ Serving Benchmark Result ============\nSuccessful requests:                     8\n"
        "Benchmark duration (s):                  4.5\nTotal input tokens:                      512\n"
        "==================================================\n"
    )
    load = load_of(path)
    assert load.params == {"num_prompts": 8, "max_concurrency": 2, "model": "o/tiny-8b"}
    path.write_text(path.read_text().replace("WARNING: ", "").replace("bench serve", "bench serve "))
    assert "temperature" not in load_of(path).params


def test_a_list_of_settings_has_no_results(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "## Test setup\n\n- Batch size: 1\n- **Prompt length:** 128 tokens\n- Response length: 32 tokens\n"
        "- Request timeout: 30 s\n\n## Results\n\n- Decode: 45.5 tok/s\n"
    )
    load = load_of(path)
    assert [(row.metric, row.value) for row in results_of(load)] == [("decode_tps", 45.5)]
    assert load.params == {
        "Batch size (line 3)": "1", "Prompt length (line 4)": "128 tokens", "Response length (line 5)": "32 tokens",
        "Request timeout (line 6)": "30 s",
    }  # fmt: skip


def test_delays_may_be_negative_and_a_requested_rate_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "summary_lifecycle_metrics.json"
    path.write_text(
        '{"load_summary": {"count": 9, "schedule_delay": {"mean": 0.0002, "min": -0.0013}, "requested_rate": 9.5,'
        ' "achieved_rate": 9.25}, "successes": {"count": 9, "latency": {"request_latency": {"mean": -2.5}}}}'
    )
    load = load_of(path)
    assert load.params == {"requested_rate": 9.5}
    assert [(row.metric, row.statistic, row.value) for row in results_of(load)] == [
        ("requests", "total", 9.0), ("e2e_ms", "mean", None), ("stated", "mean", 0.0002), ("stated", "min", -0.0013),
        ("stated", "stated", 9.25),
    ]  # fmt: skip


def test_a_command_above_an_arm_states_no_precision_of_the_next(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    block = (
        "============ Serving Benchmark Result ============\nSuccessful requests:  8\n"
        "Benchmark duration (s):  4.5\nTotal input tokens:  512\n======================================\n"
    )
    path.write_text(f"## FP8\n\nvllm serve o/Tiny-8B-FP8 --port 1\n\n{block}\n## BF16\n\n{block}")
    assert [(load.model, load.server_config) for load in loads_of(path)] == [("o/Tiny-8B-FP8", {}), ("Tiny-8B", {})]


def test_a_quantization_in_a_heading_is_that_of_its_section(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text("### NVFP4 build\n\nDecode: 90.5 tok/s\n\n### Baseline\n\nTTFT: 80 ms\n")
    assert load_of(path).server_config == {}


RESULT = "\n\nDecode: 45.5 tok/s\n"
COMMANDS = {
    "a fence": (
        f"```\nvllm serve o/Tiny-8B \\\n  --kv-cache-dtype fp8 -pp 2\n```{RESULT}",
        {"engine": "vllm", "kv_cache_dtype": "fp8", "pipeline_parallel": 2},
    ),
    "code": (
        f"I ran `python -m sglang.launch_server --model-path o/Tiny-8B --kv-cache-dtype fp8_e5m2` here.{RESULT}",
        {"engine": "sglang", "kv_cache_dtype": "fp8_e5m2"},
    ),
    "both sides of the cache": (
        f"    ./llama-server -m tiny-8b.gguf -ctk q8_0 -ctv q8_0{RESULT}",
        {"engine": "llamacpp", "kv_cache_dtype": "q8_0"},
    ),
    "an image": (
        f"docker run vllm/vllm-openai:v0.11.0 --model o/Tiny-8B{RESULT}",
        {"engine": "vllm", "engine_version": "0.11.0"},
    ),
    "what several share": (
        f"vllm serve o/Tiny-8B --kv-cache-dtype fp8\n\nvllm serve o/Tiny-8B{RESULT}", {"engine": "vllm"},
    ),
    "two engines": (f"vllm serve o/Tiny-8B\n\npython -m sglang.launch_server --model-path o/Tiny-8B{RESULT}", {}),
    "another engine in words": (f"vllm serve o/Tiny-8B\n\nSGLang is faster.{RESULT}", {}),
    "an example": (f"You could try `vllm serve o/Tiny-8B --kv-cache-dtype fp8`.{RESULT}", {}),
    "another cache": (
        f"vllm serve o/Tiny-8B --kv-cache-dtype fp8\n\nWith a BF16 KV cache it is slower.{RESULT}", {"engine": "vllm"},
    ),
    "the command of an arm": (f"## A\n\nvllm serve o/Tiny-8B{RESULT}\n## B{RESULT.replace('45', '40')}", {}),
    "a command of each arm": (
        f"## A\n\nvllm serve o/Tiny-8B --port 1{RESULT}\n## B\n\nvllm serve o/Tiny-8B{RESULT.replace('45', '40')}",
        {"engine": "vllm"},
    ),
    "a setup": (f"## Setup\n\nvllm serve o/Tiny-8B\n\n## Results{RESULT}", {"engine": "vllm"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "config"), COMMANDS.values(), ids=COMMANDS)
def test_commands_state_settings_of_the_server(tmp_path: Path, text: str, config: dict[str, object]) -> None:
    path = tmp_path / "post.md"
    path.write_text(text)
    load = load_of(path)
    assert load.server_config == config
    assert any("Read from the commands of the text: engine " in note for note in load.notes) is bool(config)


ROWS = {
    "a row": (
        "| Field | Value |\n|---|---|\n| **Model** | `Tiny-8B` |\n| TP | 2 |",
        ("Tiny-8B", {"tensor_parallel": 2}),
    ),
    "the type of a cache": (
        "| Field | Value |\n|---|---|\n| Model | o/Tiny-8B |\n| KV cache | fp8 |",
        ("o/Tiny-8B", {}),
    ),
    "a head": ("| Model | Note |\n|---|---|\n| first | - |", (None, {})),
    "a bullet": ("- **Model**: `o/tiny-small`", ("o/tiny-small", {})),
    "two models": ("- Model: `o/tiny-small` / `o/tiny-large`", (None, {})),
    "no name": ("- Model: default", (None, {})),
}


@pytest.mark.parametrize(("text", "settings"), ROWS.values(), ids=ROWS)
def test_fields_and_their_values(tmp_path: Path, text: str, settings: tuple[str | None, dict[str, object]]) -> None:
    path = tmp_path / "post.md"
    path.write_text(f"{text}{RESULT}")
    load = load_of(path)
    assert (load.model, load.server_config) == settings
