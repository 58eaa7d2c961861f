"""What TensorRT-LLM's iteration lines mean."""

from __future__ import annotations

from engines.definitions import define

_NOT_PRINTED = "not on the iteration lines"
_PADDED = "the line prints no rate, and its generation tokens count CUDA graph padding and drafted tokens"

DEFINITIONS = define(
    "trtllm.log",
    {
        "requests_running": "as printed: num_scheduled_requests of the iteration",
        "kv_usage_ratio": "as printed: kv_cache_util (mid-2026 and later)",
    },
    {
        "decode_tps": _PADDED,
        "tokens_per_step": _PADDED,
        "steps_per_s": "request-steps are not counted: an iteration may hold any mix of prefill and decoding",
        "acceptance_length": _NOT_PRINTED,
        "acceptance_rate": _NOT_PRINTED,
        "per_position": _NOT_PRINTED,
        "requests_waiting": _NOT_PRINTED,
        "preemptions": _NOT_PRINTED,
    },
)
