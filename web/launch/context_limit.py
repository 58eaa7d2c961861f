"""The longest context that fits into this machine's GPUs, known before a launch from the model's files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from analysis.physics.attention import Attention, read_attention, text_config
from analysis.physics.dtypes import bytes_per_number
from analysis.physics.kv_bytes import longest_context, token_bytes
from collectors.machine.gpu_status import read_gpu_status
from domain import Config
from engines import BY_NAME
from launcher.checks.launch_request import LaunchRefusedError
from launcher.checks.model_folder import find_model
from launcher.checks.requirements import Gpu, gpu_facts
from machine.detached_calls import DetachedCalls
from machine.regular_file import NotRegularError
from machine.weight_files import WeightsUnreadError, weight_bytes
from reasons import Reason
from reports.runs.model_config import CONFIG, read_config
from web.theme import byte_size

READ_S = 2.0
_CALLS = DetachedCalls("context", 16)


class ModelFacts(NamedTuple):
    """What a model's files state: its config.json, and the size of its weights."""

    config: Mapping[str, Any]
    weight_bytes: int


def context_sentence(config: Config) -> str | None:
    """Return the longest context that fits here as a sentence; None if it cannot be known before the start."""
    engine = BY_NAME.get(config.engine)
    if engine is None or not engine.memory_fraction_holds_weights:
        return None
    try:
        files = _CALLS.call_within(lambda: _read_files(config), READ_S)
        gpus = _CALLS.call_within(lambda: gpu_facts(read_gpu_status()).gpus, READ_S)
    except TimeoutError:
        return None
    return describe_limit(config, files, gpus) if files else None


def describe_limit(config: Config, files: ModelFacts, gpus: Sequence[Gpu]) -> str | None:
    """Return the sentence for these files on these GPUs; None if a needed number is unknown.

    The bound holds whatever the engine keeps besides: activations and graphs only take from it.
    """
    attention = read_attention(files.config)
    memory = [gpu.memory_total_bytes for gpu in gpus]
    if not _loads_files_as_they_are(config, files):
        return None
    if not isinstance(attention, Attention) or attention.context is None or not memory or None in memory:
        return None
    number_bytes = bytes_per_number(config.kv_cache_dtype, attention.dtype)
    if number_bytes is None:
        return None
    ranks, fraction = config.tensor_parallel or 1, config.gpu_memory_fraction
    gpu_count = ranks * (config.pipeline_parallel or 1)
    gpu_bytes = max(total for total in memory if total is not None)  # of unlike GPUs it may use the largest
    pool_bytes = (fraction or 1.0) * gpu_bytes * gpu_count - files.weight_bytes
    limit = longest_context(pool_bytes, attention.layers, number_bytes, ranks, attention.context)
    per_token = byte_size(token_bytes(attention.layers, number_bytes, ranks))
    gpu_text = f"{gpu_count} GPUs of {byte_size(gpu_bytes)}" if gpu_count > 1 else f"a GPU of {byte_size(gpu_bytes)}"
    share = f"{fraction:g} of " if fraction else ""
    basis = f"{share}{gpu_text}, less {byte_size(files.weight_bytes)} of weights, at {per_token} per token"
    if config.max_model_len and config.max_model_len > limit:
        return f"A context of {config.max_model_len:,} tokens probably does not fit: at most {limit:,} do ({basis})."
    whole_words = ", the longest that the model supports" if limit == attention.context else ""
    return f"A context of at most {limit:,} tokens fits{whole_words} ({basis}); activations and graphs reduce it."


def _loads_files_as_they_are(config: Config, files: ModelFacts) -> bool:
    """Whether the weights take as many bytes on the GPUs as in their files, as far as is known."""
    is_quantized_at_load = config.quantization is not None and "quantization_config" not in files.config
    has_offload = any(flag.startswith("--cpu-offload") for flag in config.unknown_flags)
    dtype = text_config(files.config).get("dtype") or text_config(files.config).get("torch_dtype")
    return not (is_quantized_at_load or has_offload or config.dtype not in (None, "auto", dtype) or dtype == "float32")


def _read_files(config: Config) -> ModelFacts | None:
    try:
        folder = find_model(config, Path.cwd(), os.environ)
        if folder is None or not folder.is_dir():
            return None
        shape = read_config(folder / CONFIG)
        return None if isinstance(shape, Reason) else ModelFacts(shape, weight_bytes(folder))
    except (OSError, NotRegularError, LaunchRefusedError, WeightsUnreadError):
        return None
