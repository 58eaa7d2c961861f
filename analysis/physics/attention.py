"""Attention layers of a model from its config.json: those that keep keys and values, and their numbers per token.

Sources: the field names are those of Hugging Face transformers' model configurations. Nothing is guessed: a model whose
layers are described in an unsupported way is unknown, with the name of its type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reasons import Code, Reason

MAX_COUNT, MAX_LAYERS = 1 << 31, 10_000  # limits on counts, because a file may contain any number
FULL, SLIDING, STATE = "full", "sliding", "state"
_KINDS = {
    **dict.fromkeys(("full_attention", "attention", "global", "*"), FULL),
    **dict.fromkeys(("sliding_attention", "chunked_attention", "local"), SLIDING),
    **dict.fromkeys(("linear_attention", "mamba", "recurrent", "conv", "M", "-", "E"), STATE),
}
_LISTS = ("layer_types", "layers_block_type", "hybrid_override_pattern")
_UNREAD = ("mamba", "ssm", "linear_attn", "attn_type_list", "attn_layer_period", "hybrid_layer_pattern")
_EVERY_NTH_FULL = {"gemma2": 2, "gemma3_text": 6, "gemma3": 6}  # for older configurations without the pattern
SHAPE = (
    *("model_type", "num_hidden_layers", "n_layer", "num_attention_heads", "n_head", "num_key_value_heads"),
    *("num_kv_heads", "multi_query", "new_decoder_architecture", "hidden_size", "n_embd", "head_dim", "v_head_dim"),
    *("global_head_dim", "num_global_key_value_heads", "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim"),
    *("qk_nope_head_dim", "sliding_window", "use_sliding_window", "sliding_window_pattern", "max_window_layers"),
    *("attention_chunk_size", "full_attention_interval", "num_kv_shared_layers", "max_position_embeddings"),
    *("dtype", "torch_dtype", "vocab_size", "tie_word_embeddings", "intermediate_size", "moe_intermediate_size"),
    *("num_experts", "n_routed_experts", "num_local_experts", "num_experts_per_tok", "top_k_experts"),
    *("num_experts_per_token", "n_shared_experts", "shared_expert_intermediate_size", "first_k_dense_replace"),
    *_LISTS,
)


@dataclass(frozen=True, slots=True)
class Layers:
    """Equal layers; `numbers_per_head` counts keys and values together, for one token in one layer."""

    count: int
    kv_heads: int
    numbers_per_head: int
    window: int | None = None  # most tokens that a layer keeps; None: all
    is_split: bool = True  # tensor parallelism divides its heads; each rank keeps a full latent (MLA)


@dataclass(frozen=True, slots=True)
class Attention:
    """All layers with a KV cache, and the number of layers with a state of constant size instead."""

    layers: tuple[Layers, ...]
    state_layers: int = 0
    dtype: str | None = None
    context: int | None = None  # longest supported context


def shape_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the fields about layers, heads and experts, which all formulas here need."""
    fields = text_config(config)
    unread = {name: True for name in fields if name.startswith(_UNREAD)}  # marks an unsupported description of layers
    return unread | {name: fields[name] for name in SHAPE if fields.get(name) is not None}


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the language model's fields, which multimodal configurations nest."""
    inner = config.get("text_config") or config.get("llm_config")
    return {**config, **inner} if isinstance(inner, Mapping) else config


def read_attention(config: Mapping[str, Any]) -> Attention | Reason:
    """Return a model's attention layers, or a Reason if its config.json describes them in an unsupported way."""
    fields = text_config(config)
    try:
        kinds = _kinds(fields)
        if kinds and {FULL, SLIDING} & set(kinds):
            return _attention(fields, kinds)
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    return Reason(Code.ATTENTION_NOT_READ, values={"model_type": fields.get("model_type")})


def _attention(fields: Mapping[str, Any], kinds: Sequence[str]) -> Attention:
    counts = Counter(kinds)
    layers = tuple(_layers(fields, kind, counts[kind], SLIDING in counts) for kind in (FULL, SLIDING) if counts[kind])
    dtype, context = fields.get("dtype") or fields.get("torch_dtype"), fields.get("max_position_embeddings")
    return Attention(layers, counts[STATE], str(dtype) if dtype else None, _count(context) if context else None)


def _layers(fields: Mapping[str, Any], kind: str, count: int, is_mixed: bool) -> Layers:
    if rank := fields.get("kv_lora_rank"):
        return Layers(count, 1, _count(rank) + int(fields.get("qk_rope_head_dim") or 0), is_split=False)
    heads, size = _heads(fields), _head_size(fields)
    values = _count(fields.get("v_head_dim") or size)
    if kind == SLIDING:
        return Layers(count, heads, size + values, _window(fields))
    if is_mixed and fields.get("global_head_dim"):  # layers without a window have their own heads
        size = values = _count(fields["global_head_dim"])
        heads = _count(fields.get("num_global_key_value_heads") or heads)
    return Layers(count, heads, size + values)


def _heads(fields: Mapping[str, Any]) -> int:
    if fields.get("multi_query") and not fields.get("new_decoder_architecture"):
        return 1
    names = ("num_key_value_heads", "num_kv_heads", "num_attention_heads", "n_head")
    return _count(next((fields[name] for name in names if fields.get(name)), None))


def _head_size(fields: Mapping[str, Any]) -> int:
    if size := fields.get("head_dim"):
        return _count(size)
    return _count(fields.get("hidden_size") or fields["n_embd"]) // _heads_of_queries(fields)


def _heads_of_queries(fields: Mapping[str, Any]) -> int:
    return _count(fields.get("num_attention_heads") or fields["n_head"])


def _window(fields: Mapping[str, Any]) -> int:
    return _count(fields.get("sliding_window") or fields["attention_chunk_size"])


def _count(value: Any) -> int:
    """Return a number of layers, heads or tokens; ValueError if it is impossible."""
    count = int(value)
    if not 0 < count <= MAX_COUNT:
        raise ValueError(f"{count} is no count.")
    return count


def _kinds(fields: Mapping[str, Any]) -> list[str] | None:
    """Return the kind of each layer with its own keys and values; None for an unsupported description."""
    count = _count(fields.get("num_hidden_layers") or fields["n_layer"])
    if count > MAX_LAYERS:
        return None
    kinds = _listed(fields) or _by_pattern(fields, count)
    if kinds is None or len(kinds) != count:
        return None
    shared = int(fields.get("num_kv_shared_layers") or 0)  # the last layers reuse the cache of earlier ones
    return kinds[: count - shared]


def _listed(fields: Mapping[str, Any]) -> list[str] | None:
    layer_names = next((fields[name] for name in _LISTS if fields.get(name)), None)
    return None if layer_names is None else [_KINDS[layer_name] for layer_name in layer_names]


def _by_pattern(fields: Mapping[str, Any], count: int) -> list[str] | None:
    """Return the kinds without a list of layers: every nth is full, all are full, or all slide."""
    if interval := fields.get("full_attention_interval"):
        return _every(int(interval), count, STATE)
    if any(name.startswith(_UNREAD) for name in fields):
        return None
    has_window = (
        fields.get("sliding_window") and fields.get("use_sliding_window", True) and not fields.get("kv_lora_rank")
    )
    if not has_window:
        return [FULL] * count
    every = fields.get("sliding_window_pattern") or _EVERY_NTH_FULL.get(str(fields.get("model_type")))
    if isinstance(every, int):
        return _every(every, count, SLIDING)
    first_full = int(fields.get("max_window_layers") or 0) if "use_sliding_window" in fields else 0
    return [FULL] * min(first_full, count) + [SLIDING] * max(count - first_full, 0)


def _every(interval: int, count: int, other_kind: str) -> list[str]:
    return [FULL if (i + 1) % interval == 0 else other_kind for i in range(count)]
