"""Definitions of vLLM's numbers, by source."""

from __future__ import annotations

from engines.definitions import define
from reasons import Code

_COUNTER_FORMULAS = {
    "decode_tps": "(Δ generation tokens − Δ time_to_first_token count) / Δ monotonic seconds",
    "tokens_per_step": "Δ generation tokens / (Δ inter-token latency count + Δ time_to_first_token count); "
    "one observation per request and step, undrafted steps included",
    "steps_per_s": "(Δ inter-token latency count + Δ time_to_first_token count) / Δ monotonic seconds; "
    "one observation per request and step",
    "acceptance_rate": "Δ accepted / Δ drafted tokens, strict",
    "requests_running": "gauge, at the last scheduler step",
    "requests_waiting": "gauge, at the last scheduler step; deferred ones included",
    "kv_usage_ratio": "gauge; cached blocks that no request holds count as free",
    "preemptions": "Δ num_preemptions_total",
}

COUNTER = define(
    "vllm.counter",
    _COUNTER_FORMULAS
    | {
        "acceptance_length": "1 + Δ accepted / Δ drafts, bonus token included, steps without a draft left out",
        "per_position": "Δ accepted at position i / Δ drafts: unconditional",
    },
    {},
)
V0_COUNTER = define(
    "vllm.v0.counter",
    _COUNTER_FORMULAS,
    {
        "acceptance_length": Code.DRAFTS_NOT_COUNTED,
        "per_position": Code.POSITIONS_NOT_COUNTED,
    },
)
LOG = define(
    "vllm.log",
    {
        "decode_tps": "as printed: all generated tokens, first tokens included, over the whole log window",
        "acceptance_length": "as printed: 1 + accepted / drafts of the window, steps without a draft left out",
        "acceptance_rate": "as printed: accepted / drafted of the window, strict",
        "per_position": "as printed: accepted at position i / drafts of the window: unconditional",
        "requests_running": "as printed: at the moment of the line",
        "requests_waiting": "as printed: at the moment of the line",
        "kv_usage_ratio": "as printed, per cent / 100",
    },
    {
        "tokens_per_step": Code.LOG_HIDES_UNDRAFTED_STEPS,
        "steps_per_s": Code.LOG_HIDES_UNDRAFTED_STEPS,
        "preemptions": Code.LOG_RESETS_PREEMPTIONS,
    },
)
DEFINITIONS = COUNTER + V0_COUNTER + LOG
