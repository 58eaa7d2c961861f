"""Settings of the server in the words around results: read if a single one is stated, else unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.prose.stated_settings import read_settings
from tests.collectors.imports.captured import load_of

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
    "vLLM 0.11.0 against Ollama": None,
}  # fmt: skip


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
