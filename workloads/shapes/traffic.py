"""'traffic': prompts of one length from so many users, or as they arrive: saturating, closed and open loops."""

from __future__ import annotations

import random
from typing import Literal

from pydantic import Field

from workloads.plan import AS_THEY_ARRIVE, Params, Phase, Plan, PlannedRequest, Workload
from workloads.shapes.arrivals import arrivals, bursts
from workloads.texts.natural_text import DrawnText

Arrival = Literal["closed loop", "Poisson", "constant rate", "bursts"]


class TrafficParams(Params):
    """What can be set of 'traffic'; lengths in tokens."""

    arrival: Arrival = "closed loop"
    concurrency: int = Field(default=16, ge=1, le=1024)  # of a closed loop
    rate_rps: float = Field(default=1.0, gt=0.0, le=1000.0)  # of all others, requests per second
    burst_size: int = Field(default=8, ge=1, le=256)
    prompt_tokens: int = Field(default=1000, ge=1, le=1_000_000)
    output_tokens: int = Field(default=200, ge=1, le=1_000_000)
    length_spread: float = Field(default=0.0, ge=0.0, le=0.9)  # lengths lie evenly between 1 - it and 1 + it of these
    requests: int = Field(default=100, ge=1, le=20_000)
    duration_s: float | None = Field(default=None, gt=0.0, le=86_400.0)  # no more are sent after it
    warmup_requests: int = Field(default=4, ge=0, le=1000)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


def build(params: TrafficParams) -> Plan:
    """A warm-up one at a time, then all requests."""
    warmup = tuple(request(params, "Warm-up", f"warm {number}") for number in range(params.warmup_requests))
    times = sending_times(params)
    traffic = tuple(request(params, "Traffic", str(number), times[number]) for number in range(params.requests))
    streams = params.concurrency if params.arrival == "closed loop" else AS_THEY_ARRIVE
    measured = Phase(title_of(params), "measure", streams, traffic, limit_s=params.duration_s)
    return [*([Phase("Warm-up", "warmup", 1, warmup)] if warmup else []), measured]


def sending_times(params: TrafficParams) -> list[float] | list[None]:
    """When each request is sent; a closed loop has no such times."""
    if params.arrival == "closed loop":
        return [None] * params.requests
    if params.arrival == "bursts":
        return list(bursts(params.seed, params.rate_rps, params.burst_size, params.requests))
    burstiness = 1.0 if params.arrival == "Poisson" else 0.0
    return arrivals(params.seed, params.rate_rps, burstiness, params.requests)


def request(params: TrafficParams, kind: str, name: str, sent_after_s: float | None = None) -> PlannedRequest:
    """One of the lengths asked for, its text of its own."""
    prompt_tokens = spread_length(params.prompt_tokens, params.length_spread, f"{params.seed} prompt {name}")
    output_tokens = spread_length(params.output_tokens, params.length_spread, f"{params.seed} output {name}")
    return PlannedRequest(
        kind,
        "",
        params.sampled(output_tokens, params.temperature, ignore_eos=True),
        drawn=DrawnText(f"{params.seed} {name}", prompt_tokens),
        sent_after_s=sent_after_s,
    )


def spread_length(tokens: int, spread: float, seed: str) -> int:
    """A length drawn evenly around `tokens`."""
    share = random.Random(seed).uniform(1 - spread, 1 + spread) if spread else 1.0
    return max(1, round(tokens * share))


def title_of(params: TrafficParams) -> str:
    """'16 users', '4 requests/s, Poisson'."""
    if params.arrival == "closed loop":
        return f"{params.concurrency} at once"
    size = f" of {params.burst_size}" if params.arrival == "bursts" else ""
    return f"{params.rate_rps:g} requests/s, {params.arrival}{size}"


TRAFFIC = Workload(
    name="traffic",
    title="Traffic",
    summary="Prompts of 1,000 tokens and answers of 200 from many users at once, or arriving at a rate.",
    params_type=TrafficParams,
    build=build,
)
