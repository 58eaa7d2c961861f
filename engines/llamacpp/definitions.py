"""Definitions of llama.cpp's numbers, by source."""

from __future__ import annotations

from engines.definitions import define
from reasons import Code

_AT_FINISH = "; moves when a request finishes"

COUNTER = define(
    "llamacpp.counter",
    {
        "decode_tps": "Δ tokens_predicted / Δ tokens_predicted_seconds: per stream" + _AT_FINISH,
        "tokens_per_step": "Δ predicted / (Δ predicted − Δ accepted): each step gives one undrafted token" + _AT_FINISH,
        "steps_per_s": "(Δ predicted − Δ accepted) / Δ tokens_predicted_seconds: per stream" + _AT_FINISH,
        "acceptance_length": "1 + Δ accepted / Δ drafts, bonus token included" + _AT_FINISH,
        "acceptance_rate": "Δ accepted / Δ drafted tokens, strict" + _AT_FINISH,
        "per_position": "Δ accepted at position i / Δ drafts: unconditional" + _AT_FINISH,
        "requests_running": "gauge requests_processing",
        "requests_waiting": "gauge requests_deferred",
        "kv_usage_ratio": "gauge kv_cache_usage_ratio, until mid-2025",
    },
    {"preemptions": Code.ENGINE_NEVER_PREEMPTS},
)
SLOTS = define(
    "llamacpp.slots",
    {
        "decode_tps": "sum over slots of Δ n_decoded within one task / Δ monotonic seconds",
        "tokens_per_step": "Δ n_decoded / Δ n_decode_total while exactly one slot is processing",
        "steps_per_s": "Δ n_decode_total / Δ monotonic seconds while exactly one slot is processing",
        "requests_running": "slots that are processing",
        "kv_usage_ratio": "tokens held by the slots that are processing / context of all slots",
    },
    {
        "acceptance_length": Code.SLOTS_TELL_NO_DRAFTS,
        "acceptance_rate": Code.SLOTS_TELL_NO_DRAFTS,
        "per_position": Code.SLOTS_TELL_NO_DRAFTS,
        "requests_waiting": Code.SLOTS_SHOW_NO_QUEUE,
        "preemptions": Code.ENGINE_NEVER_PREEMPTS,
    },
)
LOG = define(
    "llamacpp.log",
    {
        "decode_tps": "as printed for a finished request: its generated tokens over its generation time",
        "acceptance_length": "as printed for a finished request: 1 + accepted / verify steps",
        "acceptance_rate": "as printed for a finished request: accepted / drafted, strict",
        "per_position": "as printed for a finished request (June 2026 and later)",
    },
    {
        "tokens_per_step": Code.LOG_COUNTS_NO_STEPS,
        "steps_per_s": Code.LOG_COUNTS_NO_STEPS,
        "requests_running": Code.NOT_ON_LOG_LINES,
        "requests_waiting": Code.NOT_ON_LOG_LINES,
        "kv_usage_ratio": Code.KV_USE_NOT_EXPORTED,
        "preemptions": Code.ENGINE_NEVER_PREEMPTS,
    },
)
DEFINITIONS = COUNTER + SLOTS + LOG
