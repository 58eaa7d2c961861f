"""'traffic': prompts of one length from concurrent users (closed loop) or at given arrival times (open loop)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate
from typing import Literal

from pydantic import Field

from workloads.natural_text import SeededText
from workloads.plan import AS_THEY_ARRIVE, Params, Phase, Plan, PlannedRequest, Workload

Arrival = Literal["closed loop", "Poisson", "constant rate", "bursts"]


class TrafficParams(Params):
    """Parameters of 'traffic'; lengths in tokens."""

    arrival: Arrival = "closed loop"
    concurrency: int = Field(default=16, ge=1, le=1024)  # of a closed loop
    rate_rps: float = Field(default=1.0, gt=0.0, le=1000.0)  # of all others, requests per second
    burst_size: int = Field(default=8, ge=1, le=256)
    prompt_tokens: int = Field(default=1000, ge=1, le=1_000_000)
    output_tokens: int = Field(default=200, ge=1, le=1_000_000)
    length_spread: float = Field(default=0.0, ge=0.0, le=0.9)  # lengths vary uniformly by this share up and down
    requests: int = Field(default=100, ge=1, le=20_000)
    duration_s: float | None = Field(default=None, gt=0.0, le=86_400.0)  # no requests are sent after it
    warmup_requests: int = Field(default=4, ge=0, le=1000)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


def build(params: TrafficParams) -> Plan:
    """Return a plan of a sequential warm-up, then all requests."""
    warmup = tuple(request(params, "Warm-up", f"warm {number}") for number in range(params.warmup_requests))
    times = send_times(params)
    traffic = tuple(request(params, "Traffic", str(number), times[number]) for number in range(params.requests))
    streams = params.concurrency if params.arrival == "closed loop" else AS_THEY_ARRIVE
    measured = Phase(title_of(params), "measure", streams, traffic, limit_s=params.duration_s)
    return [*([Phase("Warm-up", "warmup", 1, warmup)] if warmup else []), measured]


def send_times(params: TrafficParams) -> list[float] | list[None]:
    """Return when each request is sent; None for each in a closed loop."""
    if params.arrival == "closed loop":
        return [None] * params.requests
    if params.arrival == "bursts":
        return list(burst_times(params.seed, params.rate_rps, params.burst_size, params.requests))
    burstiness = 1.0 if params.arrival == "Poisson" else 0.0
    return arrival_times(params.seed, params.rate_rps, burstiness, params.requests)


def request(params: TrafficParams, kind: str, name: str, sent_after_s: float | None = None) -> PlannedRequest:
    """Return a request of the given lengths with a unique text."""
    prompt_tokens = spread_length(params.prompt_tokens, params.length_spread, f"{params.seed} prompt {name}")
    output_tokens = spread_length(params.output_tokens, params.length_spread, f"{params.seed} output {name}")
    return PlannedRequest(
        kind,
        "",
        params.sampling_for(output_tokens, params.temperature, ignore_eos=True),
        seeded_prompt=SeededText(f"{params.seed} {name}", prompt_tokens),
        sent_after_s=sent_after_s,
    )


def spread_length(tokens: int, spread: float, seed: str) -> int:
    """Return a length drawn uniformly around `tokens`."""
    share = random.Random(seed).uniform(1 - spread, 1 + spread) if spread else 1.0
    return max(1, round(tokens * share))


def title_of(params: TrafficParams) -> str:
    """Return the title of the phase: '16 at once', '4 requests/s, Poisson'."""
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


def arrival_times(seed: int, rate_rps: float, burstiness: float, count: int) -> list[float]:
    """Return the send times in seconds after the start, the first at 0.

    Gaps are drawn from a gamma distribution of mean 1 / rate and shape `burstiness`: 1 is a Poisson process, below 1
    comes in bursts, above 1 is more even (vLLM's `--burstiness` means the same); 0 is a constant rate.
    """
    rng = random.Random(f"{seed} arrivals")
    gaps = (_gap(rng, rate_rps, burstiness) for _ in range(count - 1))
    return [round(at_s, 6) for at_s in accumulate(gaps, initial=0.0)]


def _gap(rng: random.Random, rate_rps: float, burstiness: float) -> float:
    return 1 / rate_rps if burstiness == 0 else rng.gammavariate(burstiness, 1 / (rate_rps * burstiness))


def burst_times(seed: int, rate_rps: float, size: int, count: int) -> Iterator[float]:
    """Yield send times of bursts of `size` simultaneous requests, at random with this mean rate."""
    starts = arrival_times(seed, rate_rps / size, 1.0, -(-count // size))
    return (starts[number // size] for number in range(count))
