"""The longest context before a launch: computed by hand for Llama 3 8B."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain import Config
from launcher.checks.requirements import Gpu
from tests.analysis.physics.models import GIB, LLAMA_3_8B
from web.launch.context_limit import ModelFacts, context_sentence, describe_limit

WEIGHTS = int(15 * GIB)
GPU = Gpu(memory_total_bytes=int(16 * GIB))
FRACTION = 15.5 / 16  # leaves 0.5 GiB
TOKEN_BYTES = 32 * 8 * (128 + 128) * 2  # layers, KV heads, key and value, bytes of bfloat16: 128 KiB


def sentence(gpus: list[Gpu], weights: int = WEIGHTS, **fields: object) -> str | None:
    config = Config(engine="vllm", **fields)  # type: ignore[arg-type]
    return describe_limit(config, ModelFacts(LLAMA_3_8B, weights), gpus)


def test_limit_is_the_pool_over_the_bytes_of_a_token() -> None:
    text = sentence([GPU], gpu_memory_fraction=FRACTION, kv_cache_dtype="bfloat16")
    assert 0.5 * GIB / TOKEN_BYTES == 4096
    assert text and text.startswith("A context of at most 4,096 tokens fits (0.96875 of a GPU of")


def test_context_that_does_not_fit_is_told() -> None:
    text = sentence([GPU], gpu_memory_fraction=FRACTION, kv_cache_dtype="bfloat16", max_model_len=4097)
    assert text and text.startswith("A context of 4,097 tokens probably does not fit: at most 4,096 do (")


def test_supported_context_is_the_most() -> None:
    text = sentence([GPU, GPU], tensor_parallel=2, kv_cache_dtype="fp8")
    assert text and "the longest that the model supports (2 GPUs of" in text


@pytest.mark.parametrize("gpus", [[], [Gpu()], [GPU, Gpu()]])
def test_unknown_memory_gives_no_number(gpus: list[Gpu]) -> None:
    assert sentence(gpus, kv_cache_dtype="bfloat16") is None


def test_weights_larger_than_the_memory() -> None:
    text = sentence([GPU], weights=int(30 * GIB), kv_cache_dtype="bfloat16", max_model_len=4096)
    assert text and "does not fit: at most 0 do" in text


def test_model_that_is_not_here_gives_no_number(tmp_path: Path) -> None:
    assert context_sentence(Config(engine="vllm", model=str(tmp_path / "none"))) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"quantization": "fp8"},
        {"dtype": "float16"},
        {"unknown_flags": ("--cpu-offload-gb 8",)},
    ],
)
def test_weights_that_are_not_loaded_as_stored_give_no_number(fields: dict[str, object]) -> None:
    assert sentence([GPU], **fields) is None


def test_larger_of_unlike_gpus_is_the_bound() -> None:
    """The server may use the larger GPU alone."""
    alone, beside = sentence([GPU]), sentence([Gpu(memory_total_bytes=int(8 * GIB)), GPU])
    assert alone is not None and alone == beside
