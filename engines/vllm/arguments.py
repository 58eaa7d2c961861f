"""Start arguments of vLLM from its log: the non-default arguments (since 0.9), all arguments (before), or the engine's
configuration line if the log has neither."""

from __future__ import annotations

import re
from collections.abc import Sequence

from domain import JsonValue
from engines.arguments import argument_name, read_dict, read_pairs, to_argv
from engines.vllm.flags import KEYS

NEEDLES = re.compile(rb"non-default args: |args: Namespace\(|AsyncEngineArgs\(|LLM engine (?:\(v|with config: )")
_PADDING = re.compile(r" {8,}")  # where a copied terminal wrapped the line
_CHANGED = re.compile(r"non-default args: (?P<dict>\{.*\})")
_ALL = re.compile(r"\b(?:args: Namespace|AsyncEngineArgs)\(")
_ENGINE = re.compile(r"LLM engine (?:\(v[^)]*\) )?with config: ")
_SPECULATION = re.compile(r"\bspeculative_config=(?P<dict>\{[^{}]*\})")
_ENGINE_SPECULATION = re.compile(r"\bspeculative_config=SpeculativeConfig\((?P<pairs>[^()]*\))")
_NAMES = frozenset(argument_name(flag) for flag in KEYS)
_ENGINE_NAMES = _NAMES & {
    "model", "quantization", "dtype", "kv_cache_dtype", "tensor_parallel_size", "pipeline_parallel_size",
    "data_parallel_size", "enforce_eager", "served_model_name", "enable_prefix_caching", "enable_chunked_prefill",
} | {"max_seq_len", "chunked_prefill_enabled"}  # fmt: skip


def read_arguments(texts: Sequence[str]) -> list[str]:
    """Return the words that the last start's arguments line states; empty if no line of `texts` states any."""
    whole_texts = [_PADDING.sub("", text) for text in texts]
    for reader in (_read_changed, _read_all, _read_engine):
        argument_lists = [arguments for text in whole_texts if (arguments := reader(text))]
        if argument_lists:
            return to_argv(argument_lists[-1])
    return []


def _read_changed(text: str) -> dict[str, JsonValue] | None:
    match = _CHANGED.search(text)
    arguments = read_dict(match["dict"]) if match else None
    if arguments is None and "non-default args: {" in text:  # the log cuts it
        arguments = read_pairs(text, _NAMES)
    return arguments and _with_model(arguments)


def _with_model(arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the arguments with their positional model under its name, if the log states none, or cuts it."""
    tag = arguments.pop("model_tag", None)
    return arguments if tag is None or "model" in arguments else {"model": tag, **arguments}


def _read_all(text: str) -> dict[str, JsonValue] | None:
    match = _ALL.search(text)
    if match is None:
        return None
    speculation = _SPECULATION.search(text)
    speculation_config = read_dict(speculation["dict"]) if speculation else None
    arguments = _with_model(read_pairs(text[match.end() :], _NAMES | {"model_tag"}))
    return {**arguments, "speculative_config": speculation_config}


def _read_engine(text: str) -> dict[str, JsonValue] | None:
    match = _ENGINE.search(text)
    if match is None:
        return None
    speculation = _ENGINE_SPECULATION.search(text)
    plain = _ENGINE_SPECULATION.sub("", text)
    arguments = read_pairs(plain[match.end() :], _ENGINE_NAMES)
    arguments["max_model_len"] = arguments.pop("max_seq_len", None)
    if (chunked := arguments.pop("chunked_prefill_enabled", None)) is not None:  # until 0.10
        arguments["enable_chunked_prefill"] = chunked
    if arguments.get("data_parallel_size") == "1":  # each of several engines reports itself as the only one
        del arguments["data_parallel_size"]
    if isinstance(arguments.get("dtype"), str):
        arguments["dtype"] = arguments["dtype"].removeprefix("torch.")
    if speculation:
        speculation_config = read_pairs(speculation["pairs"], {"method", "model", "num_spec_tokens"})
        tokens = speculation_config.pop("num_spec_tokens", None)
        arguments["speculative_config"] = speculation_config | ({"num_speculative_tokens": tokens} if tokens else {})
    return arguments
