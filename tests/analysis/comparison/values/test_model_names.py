"""Names of one model, which hubs, files, caches and servers spell differently."""

from __future__ import annotations

import pytest

from analysis.comparison.model_names import base_name, quantization_in

ONE_MODEL = [
    ("Qwen/Qwen3-32B", "Qwen3-32B-FP8"),
    ("Qwen/Qwen3-32B", "qwen3-32b"),
    ("meta-llama/Llama-3.1-8B-Instruct", "/models/llama-3.1-8b-instruct.Q4_K_M.gguf"),
    ("meta-llama/Llama-3.1-8B-Instruct", "RedHatAI/Llama-3.1-8B-Instruct-quantized.w4a16"),
    ("meta-llama/Llama-3.1-8B-Instruct", "neuralmagic/Llama-3.1-8B-Instruct-FP8-dynamic/"),
    ("openai/gpt-oss-20b", "ggml-org/gpt-oss-20b-GGUF/gpt-oss-20b-mxfp4.gguf"),
    ("openai/gpt-oss-20b", "unsloth/gpt-oss-20b-F16.gguf"),
    ("deepseek-ai/DeepSeek-R1-0528", "nvidia/DeepSeek-R1-0528-NVFP4"),
    ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-AWQ"),
    ("Qwen/Qwen3-8B", "unsloth/Qwen3-8B-GGUF:Q4_K_M"),
    ("Qwen/Qwen3-8B", "unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL"),
    ("Qwen/Qwen3-8B", "mradermacher/Qwen3-8B-i1-GGUF/Qwen3-8B.i1-IQ4_XS.gguf"),
    ("Qwen/Qwen3-8B", "mlx-community/Qwen3-8B-6bit-DWQ"),
    ("Qwen/Qwen3-8B", "Qwen3-8B-TQ1_0.gguf"),
    ("Qwen/Qwen3-8B", "/cache/hub/models--Qwen--Qwen3-8B/snapshots/b968826d9c46dd6066d109eabc6255188de91218"),
    ("Qwen/Qwen3-8B", "/srv/Qwen3-8B-FP8/model.safetensors"),
    ("Qwen/Qwen3-8B", "/srv/qwen3-8b/ggml-model-Q8_0.gguf"),
    ("Qwen/Qwen3-8B", "/srv/qwen3-8b/Q8_0.gguf"),
    ("Qwen/Qwen3-235B-A22B", "Qwen3-235B-A22B-UD-Q4_K_XL-00001-of-00003.gguf"),
    ("google/gemma-3-27b-it", "google/gemma-3-27b-it-qat-q4_0-gguf"),
    ("gemma-4-31B-it", "LilaRest/gemma-4-31B-it-NVFP4-turbo"),
]
TWO_MODELS = [
    ("Qwen/Qwen3-32B", "Qwen/Qwen3-8B"),
    ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B-Base"),
    ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct"),
    ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.2-8B-Instruct"),
    ("/models/llama-3.1-8b/model.gguf", "/models/qwen3-32b/model.gguf"),
    ("/models/llama-3.1-8b/ggml-model-q4_0.gguf", "/models/qwen3-32b/ggml-model-q8_0.gguf"),
    ("whisper-large-v3", "whisper-large-v3-turbo"),
    ("Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B-Thinking-2507"),
    ("gpt-oss-20b", "gpt-oss-120b"),
]


@pytest.mark.parametrize(("text", "other"), ONE_MODEL)
def test_one_model_has_one_name(text: str, other: str) -> None:
    assert base_name(text) == base_name(other)


@pytest.mark.parametrize(("text", "other"), TWO_MODELS)
def test_other_models_have_other_names(text: str, other: str) -> None:
    assert base_name(text) != base_name(other)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Qwen/Qwen3-32B", ()),
        ("Qwen3-32B-FP8", ("fp8",)),
        ("llama-3.1-8b-instruct.Q4_K_M.gguf", ("q4_k_m",)),
        ("unsloth/Qwen3-8B-GGUF:Q4_K_M", ("gguf", "q4_k_m")),
        ("nvidia/DeepSeek-R1-0528-NVFP4", ("nvfp4",)),
        ("/srv/Qwen3-8B-FP8/model.safetensors", ("fp8",)),
        ("/srv/Qwen3-8B-FP8/Qwen3-8B.safetensors", ()),
        ("/hub/models--Qwen--Qwen3-8B-FP8/snapshots/b968826d9c46dd6066d109eabc6255188de91218", ("fp8",)),
        ("/srv/qwen3-8b/Q8_0.gguf", ("q8_0",)),
        ("google/gemma-3-27b-it-qat-q4_0-gguf", ("qat", "q4_0", "gguf")),
    ],
)
def test_the_quantization_that_a_name_tells(name: str, words: tuple[str, ...]) -> None:
    assert quantization_in(name) == words


@pytest.mark.parametrize("name", ["", "/", "//", "-", "Q4_K_M.gguf", "model", "<b>&`|$(x)", "\u202e\0", "a" * 10_000])
def test_any_text_is_read(name: str) -> None:
    assert isinstance(base_name(name), str) and isinstance(quantization_in(name), tuple)
