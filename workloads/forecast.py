"""Forecasts what a load will need: requests, tokens, minimum time, context length."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from domain import JsonValue
from workloads import REGISTRY
from workloads.plan import AS_THEY_ARRIVE, Phase, PlannedRequest
from workloads.texts.natural_text import CHARACTERS_A_TOKEN


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan will send; for an adaptive workload, what it begins with."""

    requests: int
    warmup_requests: int
    output_tokens: int  # at most
    longest_tokens: int  # prompt and answer of the longest request, about
    seconds: float  # at least, if every stream went at `stream_tps` whatever runs beside it
    stream_tps: float
    is_adaptive: bool


def forecast(workload: str, params: Mapping[str, JsonValue], stream_tps: float) -> Forecast:
    """Raises pydantic's ValidationError, or PlanError, as planning does."""
    known = REGISTRY[workload]
    plan = known.plan(params)
    warmup = sum(len(phase.requests) for phase in plan if phase.kind == "warmup")
    requests = [request for phase in plan for request in phase.requests]
    return Forecast(
        len(requests) - warmup,
        warmup,
        sum(request.max_tokens for request in requests),
        max(map(tokens_of, requests), default=0),
        sum(_seconds(phase, stream_tps) for phase in plan),
        stream_tps,
        known.is_adaptive,
    )


def _seconds(phase: Phase, stream_tps: float) -> float:
    tokens = sum(request.max_tokens for request in phase.requests)
    last_s = max((request.sent_after_s or 0.0 for request in phase.requests), default=0.0)
    streams = phase.concurrency if phase.concurrency != AS_THEY_ARRIVE else len(phase.requests)
    busy_s = tokens / stream_tps / max(1, min(streams, len(phase.requests)))
    return min(max(busy_s, last_s), phase.limit_s or busy_s + last_s)


def tokens_of(request: PlannedRequest) -> int:
    """Tokens of its prompt and its longest answer: as asked, or about, by the length of its text."""
    drawn = [one.tokens for one in (request.context, request.drawn) if one]
    texts = [request.prompt, *(json.dumps(dict(message)) for message in request.messages)]
    return sum(drawn) + round(sum(map(len, texts)) / CHARACTERS_A_TOKEN) + request.max_tokens
