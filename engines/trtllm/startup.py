"""Start-up facts of TensorRT-LLM: engine size, KV cache in the wording of each release, readiness."""

from __future__ import annotations

import re
from collections.abc import Callable

from domain import JsonValue
from engines.numerals import COUNT, NUMBER

Fact = dict[str, JsonValue]
_MODEL_LIMITS = {  # of the C++ runtime
    "maxNumSequences": "max_running_requests",
    "maxSequenceLen": "max_model_len",
    "maxNumTokens": "max_num_batched_tokens",
}

_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Fact]], ...] = (
    (re.compile(rf"Allocate ({COUNT}) bytes for k/v cache"), lambda m: {"kv_cache_bytes": int(m[1])}),
    (re.compile(rf"Using ({COUNT}) (?:total )?tokens in paged KV cache"), lambda m: {"kv_cache_tokens": int(m[1])}),
    (
        re.compile(rf"Max tokens in paged KV cache: ({COUNT})\. Allocating ({COUNT}) bytes"),
        lambda m: {"kv_cache_tokens": int(m[1]), "kv_cache_bytes": int(m[2])},
    ),
    (
        re.compile(rf"Allocated ({NUMBER}) GiB for max tokens in paged KV cache \(({COUNT})\)"),
        lambda m: {"kv_cache_gib": float(m[1]), "kv_cache_tokens": int(m[2])},
    ),
    (
        re.compile(rf"KV cache (?:blocks|pages) per sequence: .*?tokens per block=({COUNT}), primary blocks=({COUNT})"),
        lambda m: {"tokens_per_block": int(m[1]), "kv_blocks": int(m[2])},
    ),
    (re.compile(rf"Number of blocks in KV cache primary pool: ({COUNT})"), lambda m: {"kv_blocks": int(m[1])}),
    (re.compile(rf"Number of tokens per block: ({COUNT})"), lambda m: {"tokens_per_block": int(m[1])}),
    (re.compile(rf"Loaded engine size: ({COUNT}) MiB"), lambda m: {"model_load_gib": int(m[1]) / 1024}),
    (
        re.compile(
            rf"available KV cache memory when calculating max tokens: {NUMBER} GiB, fraction is set "
            rf"(?P<fraction>{NUMBER})(?:.*device total memory (?P<total>{NUMBER}) GiB)?"
        ),
        lambda m: (
            {"free_gpu_memory_fraction": round(float(m["fraction"]), 6)}
            | ({"gpu_memory_gib": float(m["total"])} if m["total"] else {})
        ),
    ),
    (
        re.compile(rf"Memory used after loading model weights \(inside torch\) .{{1,60}}: ({NUMBER}) GiB"),
        lambda m: {"weights_gib": float(m[1])},
    ),
    (
        re.compile(rf"(?:Rank \d{{1,6}} uses|Use) ({NUMBER}) GB for model weights"),
        lambda m: {"weights_gib": float(m[1])},
    ),
    (
        re.compile(rf"when calculating max tokens in paged kv cache: total: ({NUMBER}) GiB, available: ({NUMBER}) GiB"),
        lambda m: {"gpu_memory_gib": float(m[1]), "free_memory_gib": float(m[2])},
    ),
    (re.compile(rf"Estimated max memory in KV cache ?: ({NUMBER}) GiB"), lambda m: {"estimated_kv_gib": float(m[1])}),
    (
        re.compile(rf"max_seq_len is not specified, using inferred value ({COUNT})"),
        lambda m: {"max_model_len": int(m[1])},
    ),
    (
        re.compile(r"AttentionRuntimeFeatures\(chunked_prefill=(True|False), cache_reuse=(True|False)"),
        lambda m: {"chunked_prefill": m[1] == "True", "prefix_caching": m[2] == "True"},
    ),
    (re.compile(r"\bPyTorchConfig\(.*\battn_backend='(\w+)'"), lambda m: {"attention_backend": m[1]}),
    (re.compile(rf"Adjusted max_seq_len to ({COUNT})"), lambda m: {"max_model_len": int(m[1])}),
    (
        re.compile(rf"TRTGptModel (maxNumSequences|maxSequenceLen|maxNumTokens): ({COUNT})"),
        lambda m: {_MODEL_LIMITS[m[1]]: int(m[2])},
    ),
    (re.compile(rf"TRTGptModel maxDraftLen: ([1-9]{COUNT}|[1-9])"), lambda m: {"num_spec_tokens": int(m[1])}),
    (re.compile(rf"Engine load time ({COUNT}) ms"), lambda m: {"model_load_s": int(m[1]) / 1000}),
    (re.compile(rf"Model init total -- ({NUMBER})s"), lambda m: {"model_load_s": float(m[1])}),
    (
        re.compile(r"^Application startup complete|Started (?:GRPCInferenceService|HTTPService) at"),
        lambda m: {"ready": True},
    ),
)


_LIMITS = {
    "max_seq_len": "max_model_len",
    "max_num_requests": "max_running_requests",
    "max_num_tokens": "max_num_batched_tokens",
}
_LIMIT = re.compile(rf"\b({'|'.join(_LIMITS)}) ?[=:] ?({COUNT})\b")
_LIMITS_LINE = re.compile(r"^max_(?:seq_len|num_requests|num_tokens|batch_size) ?[=:] ?\d")


_BLOCKS = re.compile(rf"\"Max KV cache blocks\":({COUNT}),.*\"Tokens per KV cache block\":({COUNT})\b")


def read_blocks(text: str) -> Fact:
    """Return the size of the KV cache as the statistics of an iteration state it."""
    match = _BLOCKS.search(text)
    return {"kv_blocks": int(match[1]), "tokens_per_block": int(match[2])} if match else {}


def read_fact(text: str) -> Fact:
    """Return the facts that a message states, in the parser's key names."""
    if _LIMITS_LINE.match(text):
        return {_LIMITS[name]: int(count) for name, count in _LIMIT.findall(text)}
    for pattern, read in _RULES:
        if match := pattern.search(text):
            return read(match)
    return {}
