"""The derived quantities that every definition id explains, one by one: by its formula or by why it is unknown."""

from __future__ import annotations

from collections.abc import Mapping

from engines.base import MetricDefinition

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
    definition: str, formulas: Mapping[str, str], null_reasons: Mapping[str, str]
) -> tuple[MetricDefinition, ...]:
    """A row per metric; raises ValueError when one is left out, said twice or not a metric."""
    if sorted([*formulas, *null_reasons]) != sorted(METRICS):
        raise ValueError(f"{definition} must say each of {', '.join(METRICS)} once")
    return tuple(MetricDefinition(definition, m, formulas.get(m), null_reasons.get(m)) for m in METRICS)


CLIENT = define(
    "client.requests",
    {
        "decode_tps": "per request (completion tokens − 1) / (last token − first token)",
        "acceptance_rate": "accepted / drafted tokens of the request, where the server states both",
    },
    {
        "tokens_per_step": "a client sees chunks, not the engine's steps",
        "steps_per_s": "a client sees chunks, not the engine's steps",
        "acceptance_length": "the number of verify steps is not told to a client",
        "per_position": "not told to a client",
        "requests_running": "a client knows only its own requests",
        "requests_waiting": "a client knows only its own requests",
        "kv_usage_ratio": "not told to a client",
        "preemptions": "not told to a client",
    },
)

# What a decode rate measures under each definition id; runs are ranked only where these are equal.
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
