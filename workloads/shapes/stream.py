"""'demo-stream': a few sequential streams, half of them predictable text and half creative."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Literal

from pydantic import Field

from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts import prompts

PromptClass = Literal["predictable", "creative"]
ORDER: tuple[PromptClass, ...] = (
    "predictable",
    "creative",
    "creative",
    "predictable",
)  # so that drift affects both equally


class StreamParams(Params):
    """Parameters of 'demo-stream'."""

    requests: int = Field(default=8, ge=1, le=1000)
    tokens: int = Field(default=1000, ge=1)
    warmup_tokens: int = Field(default=64, ge=1)
    predictable_temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    creative_temperature: float = Field(default=0.8, ge=0.0, le=2.0)


def build(params: StreamParams) -> Plan:
    """Return a plan of a warm-up, then `requests` requests of exactly `tokens` tokens, one at a time."""
    temperature = {"predictable": params.predictable_temperature, "creative": params.creative_temperature}

    def request(prompt_class: PromptClass, prompt: str, tokens: int) -> PlannedRequest:
        return PlannedRequest(prompt_class, prompt, params.sampling_for(tokens, temperature[prompt_class], True))

    pairs = islice(zip(cycle(ORDER), cycle(prompts.DEMO), strict=False), params.requests)
    warmup = (request("predictable", prompts.WARMUP, params.warmup_tokens),)
    measured = tuple(request(prompt_class, prompt, params.tokens) for prompt_class, prompt in pairs)
    return [Phase("Warm-up", "warmup", 1, warmup), Phase("Streams, one at a time", "measure", 1, measured)]


DEMO_STREAM = Workload(
    name="demo-stream",
    title="Demo stream",
    summary="One stream at a time, half of them at temperature 0 and half at 0.8: seconds on two cores.",
    params_type=StreamParams,
    build=build,
)
