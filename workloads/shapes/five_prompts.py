"""'five-prompts': five kinds of text in two sequential rounds, then four requests at once."""

from __future__ import annotations

from pydantic import Field

from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts import prompts

MAX_TOKENS = {"Q&A": 256, "Code": 512, "JSON": 1024, "Math": 32, "LongCode": 2048}


class FivePromptParams(Params):
    """Parameters of 'five-prompts'."""

    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    rounds: int = Field(default=2, ge=1, le=100)
    parallel: int = Field(default=4, ge=0, le=64)
    parallel_tokens: int = Field(default=1024, ge=1)
    token_scale: float = Field(default=1.0, gt=0.0, le=1.0)  # below 1 for a quick test: scales all token limits
    ignore_eos: bool = False  # an answer may end early, as Math's does; its actual tokens count


def build(params: FivePromptParams) -> Plan:
    """Return a plan of warm-up, `rounds` times the five prompts sequentially, then `parallel` concurrent requests."""

    def request(prompt_class: str, prompt: str, tokens: int) -> PlannedRequest:
        limit = max(1, round(tokens * params.token_scale))
        return PlannedRequest(prompt_class, prompt, params.sampling_for(limit, params.temperature, params.ignore_eos))

    five = tuple(request(name, prompts.FIVE[name], tokens) for name, tokens in MAX_TOKENS.items())
    plan = [Phase("Warm-up", "warmup", 1, (request("Q&A", prompts.WARMUP, 64),))]
    plan += [Phase(f"Run {n}/{params.rounds}", "measure", 1, five) for n in range(1, params.rounds + 1)]
    if params.parallel:
        texts = [prompts.PARALLEL[n % len(prompts.PARALLEL)] for n in range(params.parallel)]
        parallel_requests = tuple(request("Parallel", text, params.parallel_tokens) for text in texts)
        plan.append(Phase(f"{params.parallel} at once", "measure", params.parallel, parallel_requests))
    return plan


FIVE_PROMPTS = Workload(
    name="five-prompts",
    title="Five prompts",
    summary="Q&A 256, Code 512, JSON 1,024, Math 32 and LongCode 2,048 tokens, twice, then 4 x 1,024 at once.",
    params_type=FivePromptParams,
    build=build,
)
