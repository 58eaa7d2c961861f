"""Definitions of the numbers in TensorRT-LLM's iteration lines."""

from __future__ import annotations

from engines.definitions import define
from reasons import Code

_NOT_PRINTED = Code.NOT_ON_LOG_LINES
_PADDED = Code.LOG_TOKENS_PADDED

DEFINITIONS = define(
    "trtllm.log",
    {
        "requests_running": "as printed: num_scheduled_requests of the iteration",
        "kv_usage_ratio": "as printed: kv_cache_util (mid-2026 and later)",
    },
    {
        "decode_tps": _PADDED,
        "tokens_per_step": _PADDED,
        "steps_per_s": Code.ITERATIONS_ARE_MIXED,
        "acceptance_length": _NOT_PRINTED,
        "acceptance_rate": _NOT_PRINTED,
        "per_position": _NOT_PRINTED,
        "requests_waiting": _NOT_PRINTED,
        "preemptions": _NOT_PRINTED,
    },
)
