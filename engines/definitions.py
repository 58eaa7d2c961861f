"""Derived quantities under every definition id: each with its formula, or with the reason why it is unknown."""

from __future__ import annotations

from collections.abc import Mapping

from engines.base import MetricDefinition
from reasons import Code

METRICS = (
    "decode_tps",
    "tokens_per_step",
    "steps_per_s",
    "acceptance_length",
    "acceptance_rate",
    "per_position",
    "requests_running",
    "requests_waiting",
    "kv_usage_ratio",
    "preemptions",
)


def define(
    definition: str, formulas: Mapping[str, str], null_reasons: Mapping[str, Code]
) -> tuple[MetricDefinition, ...]:
    """Return one row per metric; raises ValueError if one is missing, repeated or unknown."""
    if sorted([*formulas, *null_reasons]) != sorted(METRICS):
        raise ValueError(f"{definition} must define each of {', '.join(METRICS)} once")
    return tuple(MetricDefinition(definition, m, formulas.get(m), null_reasons.get(m)) for m in METRICS)


CLIENT = define(
    "client.requests",
    {
        "decode_tps": "per request (completion tokens − 1) / (last token − first token)",
        "acceptance_rate": "accepted / drafted tokens of the request, if the server reports both",
    },
    {
        "tokens_per_step": Code.CLIENT_SEES_NO_STEPS,
        "steps_per_s": Code.CLIENT_SEES_NO_STEPS,
        "acceptance_length": Code.CLIENT_SEES_NO_STEPS,
        "per_position": Code.CLIENT_NOT_TOLD,
        "requests_running": Code.CLIENT_KNOWS_OWN_REQUESTS,
        "requests_waiting": Code.CLIENT_KNOWS_OWN_REQUESTS,
        "kv_usage_ratio": Code.CLIENT_NOT_TOLD,
        "preemptions": Code.CLIENT_NOT_TOLD,
    },
)

# Meaning of a decode rate under each definition id; runs are ranked only if these are equal.
OVER_TIME = "decode tokens over wall time, from the engine's own counts"
MEASURES: dict[str, str] = {
    "vllm.counter": OVER_TIME,
    "vllm.v0.counter": OVER_TIME,
    "sglang.counter": OVER_TIME,
    "llamacpp.slots": OVER_TIME,
    "llamacpp.counter": "decode tokens over decode time of requests that finished",
    "vllm.log": "all output tokens over the log's own window, first tokens and idle time included",
    "sglang.log": "decode tokens over the time since the last decode line, idle time included",
    "llamacpp.log": "generated tokens over generation time of a request that finished",
}
