"""'ladder': one warm request at a time, then the same request 2, 4 and 8 at once."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts import prompts


class LadderParams(Params):
    """Parameters of 'ladder'; a rung is a number of concurrent requests."""

    tokens: int = Field(default=256, ge=1)
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    repeats: int = Field(default=3, ge=1, le=100)  # requests per stream on each rung
    rungs: tuple[Annotated[int, Field(ge=1, le=256)], ...] = (1, 2, 4, 8)


def build(params: LadderParams) -> Plan:
    """Return a plan of a warm-up, then one phase per rung with `repeats` requests for each of its streams."""
    request = PlannedRequest("Single", prompts.SINGLE, params.sampling_for(params.tokens, params.temperature, True))
    rungs = [
        Phase(f"{concurrency} at once", "measure", concurrency, (request,) * concurrency * params.repeats)
        for concurrency in params.rungs
    ]
    return [Phase("Warm-up", "warmup", 1, (request,)), *rungs]


LADDER = Workload(
    name="ladder",
    title="Warm single, then 2, 4, 8 at once",
    summary="256 tokens at temperature 0 from a short warm prompt, alone and then at rising concurrency.",
    params_type=LadderParams,
    build=build,
)
