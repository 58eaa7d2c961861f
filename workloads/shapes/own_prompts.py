"""'own-prompts': the user's own prompts, typed or from a file, at a given concurrency."""

from __future__ import annotations

from pydantic import Field

from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts.prompt_file import read_prompts, typed_prompts
from workloads.texts.prompts import SINGLE


class OwnPromptParams(Params):
    """Parameters of 'own-prompts'."""

    prompts: str = Field(default=SINGLE, max_length=65_536)  # one per line
    file: str = Field(default="", max_length=4096)  # replaces them; on Pitwall's machine
    output_tokens: int = Field(default=512, ge=1, le=1_000_000)  # at most, unless the file has another number
    ignore_eos: bool = False
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    concurrency: int = Field(default=1, ge=1, le=512)
    rounds: int = Field(default=1, ge=1, le=100)
    warmup_requests: int = Field(default=1, ge=0, le=100)


def build(params: OwnPromptParams) -> Plan:
    """Return a plan of the first prompts as warm-up, then all prompts in rounds; raises PlanError for a bad file."""
    requests = tuple(
        PlannedRequest(
            own_prompt.prompt_class,
            own_prompt.prompt,
            params.sampling_for(own_prompt.max_tokens or params.output_tokens, params.temperature, params.ignore_eos),
            messages=tuple(own_prompt.messages),
        )
        for own_prompt in (read_prompts(params.file) if params.file else typed_prompts(params.prompts))
    )
    warmup = (requests * params.warmup_requests)[: params.warmup_requests]
    title = "one at a time" if params.concurrency == 1 else f"{params.concurrency} at once"
    measured = Phase(f"Own prompts, {title}", "measure", params.concurrency, requests * params.rounds)
    return [*([Phase("Warm-up", "warmup", 1, warmup)] if warmup else []), measured]


OWN_PROMPTS = Workload(
    name="own-prompts",
    title="Own prompts",
    summary="Your prompts, one per line, or from a file of lines, or JSON lines with prompt or messages.",
    params_type=OwnPromptParams,
    build=build,
)
