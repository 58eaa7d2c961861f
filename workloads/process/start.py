"""Start the load that a job describes, against the server that it names."""

from __future__ import annotations

import asyncio

import httpx
from pydantic import BaseModel, ValidationError

from errors import PitwallError
from machine.bounded_http import BadAnswerError, BoundedHttp, NoAnswerError, ReadLimits
from workloads import REGISTRY
from workloads.process.job import Job
from workloads.process.load_book import CounterLook, LoadBook, no_counters
from workloads.process.runner import Runner
from workloads.requests.client import Target

MODELS_LIMITS = ReadLimits(body_bytes=1 << 20, total_s=30.0)


class UnknownWorkloadError(PitwallError):
    """A job names a workload that is not in the registry."""


class ModelCard(BaseModel):
    """One entry of /v1/models."""

    id: str


class ModelList(BaseModel):
    """The answer of /v1/models, as OpenAI's API has it."""

    data: list[ModelCard]


async def first_model(base_url: str, api_key: str | None) -> str:
    """The first name that /v1/models gives, or 'default' where it gives none: its requests will say what is wrong."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    http = BoundedHttp(base_url.rstrip("/"), headers, silence_s=MODELS_LIMITS.total_s)
    try:
        answer = await asyncio.to_thread(http.get, "/v1/models", MODELS_LIMITS)
        cards = ModelList.model_validate_json(answer.content).data
    except (NoAnswerError, BadAnswerError, httpx.InvalidURL, ValidationError):
        cards = []
    finally:
        http.close()
    return cards[0].id if cards else "default"


async def run_job(job: Job, api_key: str | None, look: CounterLook = no_counters) -> int:
    """Send the job's requests; the exit status. `look()` reads the server's counters, in a thread.

    Raises UnknownWorkloadError, or pydantic's ValidationError on wrong parameters.
    """
    workload = REGISTRY.get(job.workload)
    if workload is None:
        raise UnknownWorkloadError(f"There is no workload {job.workload!r}: it is one of {', '.join(REGISTRY)}.")
    params = workload.checked(job.params)
    target = Target(
        run_id=job.run_id,
        workload=job.workload,
        base_url=job.base_url,
        model=job.model or await first_model(job.base_url, api_key),
        engine=job.engine,
        endpoint=params.endpoint,
        api_key=api_key,
        stall_timeout_s=job.stall_timeout_s,
        request_timeout_s=job.request_timeout_s,
    )
    book = LoadBook(job, workload.prompt_set_hash(job.params), params, look, target.utc_now)
    return await Runner(job, workload, params, target, book).run()
