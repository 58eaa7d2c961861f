"""TensorRT-LLM's settings file (`--config`, `--extra_llm_api_options`); its settings win over flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engines.base import CommandReading, SettingsFile
from engines.command_reading import ReadingDraft, read_integer
from engines.trtllm.flags import GRAMMAR, SETTINGS_FILE, TABLE

FLAGS = {
    "model": "--model",
    "max_seq_len": "--max_seq_len",
    "max_batch_size": "--max_batch_size",
    "max_num_tokens": "--max_num_tokens",
    "tensor_parallel_size": "--tp_size",
    "pipeline_parallel_size": "--pp_size",
    "enable_chunked_prefill": "--enable_chunked_prefill",
    "kv_cache_config.dtype": "--kv_cache_dtype",
    "kv_cache_config.free_gpu_memory_fraction": "--kv_cache_free_gpu_memory_fraction",
}
METHOD = "speculative_config.decoding_type"
MODELS = (
    "speculative_config.speculative_model_dir",
    "speculative_config.speculative_model",
    "speculative_config.draft_model",
)
NUMBERS = ("speculative_config.max_draft_len", "speculative_config.num_nextn_predict_layers")
BLOCK_REUSE = "kv_cache_config.enable_block_reuse"
_NESTED = frozenset({"kv_cache_config", "speculative_config"})


def read_settings(settings: Mapping[str, Any]) -> CommandReading:
    """Return the Config fields that the settings state, and the names of all others."""
    values = dict(_flat(settings))
    draft = ReadingDraft()
    words = [word for name, flag in FLAGS.items() if name in values for word in (flag, values.pop(name))]
    GRAMMAR.read(TABLE.split(words), draft)
    if method := values.pop(METHOD, None):
        draft.state("speculative.method", method)
    for names, field in ((MODELS, "speculative.model"), (NUMBERS, "speculative.num_tokens")):
        for name in names:
            if text := values.pop(name, None):
                draft.state(field, text if field == "speculative.model" else read_integer(text))
    if reuse := values.pop(BLOCK_REUSE, None):
        draft.state("prefix_caching", reuse.lower() == "true")
    if values:
        draft.warnings.append(f"settings that no field shows: {', '.join(values)}")
    return draft.reading()


def _flat(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The settings as name and text, those of two sections under 'section.name'."""
    flat: list[tuple[str, str]] = []
    for name, value in settings.items():
        if name in _NESTED and isinstance(value, dict):
            flat += [(f"{name}.{key}", text if isinstance(text, str) else "…") for key, text in value.items()]
        else:
            flat.append((str(name), value if isinstance(value, str) else "…"))
    return flat


SETTINGS = SettingsFile(SETTINGS_FILE, read_settings, overrides=True)
