"""Forecasts what a load will need: requests, tokens, minimum time, context length."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain import JsonValue
from workloads import REGISTRY
from workloads.natural_text import CHARS_PER_TOKEN
from workloads.plan import AS_THEY_ARRIVE, Phase, PlannedRequest
from workloads.reference_text import MAX_TEXT_TOKENS, SHALLOW_DEPTH
from workloads.texts.prompt_file import PlanError

ASSUMED_PREFILL_TPS = 4000.0  # of probes, whose prompts take most of their time
PROBE_S = 0.03  # of a probe whose prefix is cached


@dataclass(frozen=True, slots=True)
class Forecast:
    """Requests, tokens and time of a plan; of an adaptive workload only its first phases."""

    requests: int
    warmup_requests: int
    output_tokens: int  # at most
    longest_tokens: int  # prompt and answer of the longest request, approximately
    seconds: float  # at least, if every stream decodes at `stream_tps` regardless of concurrency
    stream_tps: float
    is_adaptive: bool
    computed_prompt_tokens: int | None = None  # of probes: at most, if the server keeps their prefixes cached


def forecast(workload: str, params: Mapping[str, JsonValue], stream_tps: float) -> Forecast:
    """Forecast a workload; raises pydantic's ValidationError, or PlanError, as planning does."""
    registered = REGISTRY[workload]
    plan = registered.plan(params)
    warmup = sum(len(phase.requests) for phase in plan if phase.kind == "warmup")
    requests = [request for phase in plan for request in phase.requests]
    computed_tokens = probed_prompt_tokens(requests)
    probe_s = sum(PROBE_S for request in requests if request.probe) + (computed_tokens or 0) / ASSUMED_PREFILL_TPS
    return Forecast(
        len(requests) - warmup,
        warmup,
        sum(request.max_tokens for request in requests),
        needed_context(requests),
        sum(_seconds(phase, stream_tps) for phase in plan) + probe_s,
        stream_tps,
        registered.is_adaptive,
        computed_tokens,
    )


def probed_prompt_tokens(requests: Sequence[PlannedRequest]) -> int | None:
    """Return the prompt tokens that probes compute at most: each text once per depth, the words before them once.

    None without a probe.
    """
    probes = [request.probe for request in requests if request.probe]
    if not probes:
        return None
    texts_at_depths = {(probe.text.name, probe.depth_tokens) for probe in probes}
    context_tokens = max(probe.depth_tokens for probe in probes) - SHALLOW_DEPTH
    return context_tokens + MAX_TEXT_TOKENS * len(texts_at_depths) + len(probes)


def refusal_of_context(workload: str, params: Mapping[str, JsonValue], context_tokens: int | None) -> str | None:
    """Return why a load cannot run: its file is unusable or the server's context too short; None if it can.

    context_tokens: None if the server's context length is not known. Raises pydantic's ValidationError.
    """
    try:
        longest = forecast(workload, params, 1.0).longest_tokens
    except PlanError as error:
        return str(error)
    if context_tokens is None or longest <= context_tokens:
        return None
    return (
        f"The server's context is {context_tokens:,} tokens, but the longest request of this load needs about "
        f"{longest:,}, including its output."
    )


def _seconds(phase: Phase, stream_tps: float) -> float:
    if any(request.waits_for for request in phase.requests):
        return _longest_way_s(phase.requests, stream_tps)
    tokens = sum(request.max_tokens for request in phase.requests)
    last_s = max((request.sent_after_s or 0.0 for request in phase.requests), default=0.0)
    streams = phase.concurrency if phase.concurrency != AS_THEY_ARRIVE else len(phase.requests)
    busy_s = tokens / stream_tps / max(1, min(streams, len(phase.requests)))
    return min(max(busy_s, last_s), phase.limit_s or busy_s + last_s)


def _longest_way_s(requests: Sequence[PlannedRequest], stream_tps: float) -> float:
    """Return the end of the last request, if each is sent after those that it waits for."""
    ends_s: list[float] = []
    for request in requests:
        start_s = max((ends_s[place] for place in request.waits_for), default=0.0) + request.think_s
        ends_s.append(max(start_s, request.sent_after_s or 0.0) + request.max_tokens / stream_tps)
    return max(ends_s)


def needed_context(requests: Sequence[PlannedRequest]) -> int:
    """Return the context length that a plan needs; probes of greater depths are left out where it is shorter."""
    probe_tokens = min((max_tokens_of(request) for request in requests if request.probe), default=0)
    return max([probe_tokens, *(max_tokens_of(request) for request in requests if not request.probe)])


def max_tokens_of(request: PlannedRequest) -> int:
    """Return the tokens of prompt and longest answer; prompts without a token length are estimated from their text."""
    if request.probe:
        return request.probe.depth_tokens - SHALLOW_DEPTH + MAX_TEXT_TOKENS + request.max_tokens
    if request.replayed:
        return request.replayed.tokens + request.max_tokens
    seeded_tokens = [text.tokens for text in (request.context, request.seeded_prompt, request.history) if text]
    texts = [request.prompt, *(json.dumps(dict(message)) for message in request.messages)]
    return sum(seeded_tokens) + round(sum(map(len, texts)) / CHARS_PER_TOKEN) + request.max_tokens
