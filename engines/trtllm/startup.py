"""What TensorRT-LLM says once: the engine's size, the KV cache in the words of each release, readiness."""

from __future__ import annotations

import re
from collections.abc import Callable

from domain import JsonValue

Fact = dict[str, JsonValue]

_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Fact]], ...] = (
    (re.compile(r"Allocate (\d+) bytes for k/v cache"), lambda m: {"kv_cache_bytes": int(m[1])}),
    (re.compile(r"Using (\d+) (?:total )?tokens in paged KV cache"), lambda m: {"kv_cache_tokens": int(m[1])}),
    (
        re.compile(r"Max tokens in paged KV cache: (\d+)\. Allocating (\d+) bytes"),
        lambda m: {"kv_cache_tokens": int(m[1]), "kv_cache_bytes": int(m[2])},
    ),
    (
        re.compile(r"Allocated ([\d.]+) GiB for max tokens in paged KV cache \((\d+)\)"),
        lambda m: {"kv_cache_gib": float(m[1]), "kv_cache_tokens": int(m[2])},
    ),
    (
        re.compile(r"Max KV cache (?:blocks|pages) per sequence: \d+ .*?tokens per block=(\d+), primary blocks=(\d+)"),
        lambda m: {"tokens_per_block": int(m[1]), "kv_blocks": int(m[2])},
    ),
    (re.compile(r"Number of blocks in KV cache primary pool: (\d+)"), lambda m: {"kv_blocks": int(m[1])}),
    (re.compile(r"Number of tokens per block: (\d+)"), lambda m: {"tokens_per_block": int(m[1])}),
    (re.compile(r"Loaded engine size: (\d+) MiB"), lambda m: {"model_load_gib": int(m[1]) / 1024}),
    (re.compile(r"Engine load time (\d+) ms"), lambda m: {"model_load_s": int(m[1]) / 1000}),
    (re.compile(r"Model init total -- ([\d.]+)s"), lambda m: {"model_load_s": float(m[1])}),
    (
        re.compile(r"^Application startup complete|Started (?:GRPCInferenceService|HTTPService) at"),
        lambda m: {"ready": True},
    ),
)


def read_fact(text: str) -> Fact:
    """The facts a message states, in the parser's key names."""
    for pattern, read in _RULES:
        if found := pattern.search(text):
            return read(found)
    return {}
