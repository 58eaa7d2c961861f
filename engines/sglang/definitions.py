"""Definitions of SGLang's numbers, by source."""

from __future__ import annotations

from engines.definitions import define
from reasons import Code

_NO_STEPS = "SGLang counts no steps; with speculation tok/s over acceptance length is no measurement"

COUNTER = define(
    "sglang.counter",
    {
        "decode_tps": "Δ realtime_tokens_total{mode=decode} / Δ monotonic seconds (0.5.8 and later), no first tokens",
        "tokens_per_step": "the acceptance length gauge if the run speculates (every step verifies), else 1",
        "steps_per_s": "decode tok/s if the run does not speculate; else unknown: " + _NO_STEPS,
        "acceptance_length": "gauge of the last 40 steps, bonus token included; only while requests run",
        "acceptance_rate": "gauge (0.5.12 and later): (length − 1) / (configured draft tokens − 1); "
        "before, the bonus token was counted on both sides and it is not shown",
        "requests_running": "gauge, of the rank's first worker",
        "requests_waiting": "gauge, of the rank's first worker",
        "kv_usage_ratio": "gauge, the fuller of the full and sliding-window pools; evictable cache counts as free",
        "preemptions": "Δ retracted requests; not exported until the first one",
    },
    {"per_position": Code.POSITIONS_PER_REQUEST_ONLY},
)
LOG = define(
    "sglang.log",
    {
        "decode_tps": "as printed on a decode line: tokens since the last one over the time between, idle included",
        "tokens_per_step": "the printed acceptance length (every step verifies), else 1 without speculation",
        "acceptance_length": "as printed: accepted tokens / verify steps, bonus token included",
        "acceptance_rate": "strict; up to 0.5.10 from the printed rate r: (r·n − 1) / (n − 1), n draft tokens",
        "requests_running": "as printed: at the moment of the line",
        "requests_waiting": "as printed: #queue-req",
        "kv_usage_ratio": "as printed: token usage",
    },
    {
        "steps_per_s": Code.NO_STEPS_WITH_SPECULATION,
        "per_position": Code.POSITIONS_PER_REQUEST_ONLY,
        "preemptions": Code.NOT_ON_LOG_LINES,
    },
)
DEFINITIONS = COUNTER + LOG
