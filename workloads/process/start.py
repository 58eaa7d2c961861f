"""Starts the load of a job against its server."""

from __future__ import annotations

import asyncio

import httpx
from pydantic import BaseModel, ValidationError

from errors import PitwallError
from machine.bounded_http import BadAnswerError, BoundedHttp, NoAnswerError, ReadLimits
from workloads import REGISTRY
from workloads.job import LoadJob
from workloads.process.load_book import CounterReader, LoadBook, no_counters
from workloads.process.runner import Runner
from workloads.requests.client import RequestTarget
from workloads.texts.probe_fitting import probe_apis

MODELS_LIMITS = ReadLimits(body_bytes=1 << 20, total_s=30.0)


class UnknownWorkloadError(PitwallError):
    """The job's workload is not in the registry."""


class ModelCard(BaseModel):
    """Entry of /v1/models."""

    id: str


class ModelList(BaseModel):
    """Response of /v1/models in OpenAI's API."""

    data: list[ModelCard]


async def first_model(base_url: str, api_key: str | None) -> str:
    """Return the first model in /v1/models, else 'default', with which the requests fail with the server's error."""
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


async def run_job(job: LoadJob, api_key: str | None, read_counters: CounterReader = no_counters) -> int:
    """Send the job's requests; returns the exit status. `read_counters()` is called in a thread.

    Raises UnknownWorkloadError, ProbeRefusedError, or pydantic's ValidationError on wrong parameters.
    """
    workload = REGISTRY.get(job.workload)
    if workload is None:
        raise UnknownWorkloadError(f"There is no workload {job.workload!r}; choose one of {', '.join(REGISTRY)}.")
    params = workload.validate_params(job.params)
    if workload.has_probes:
        probe_apis(job.engine)  # refuses before anything is recorded
    target = RequestTarget(
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
    book = LoadBook(job, workload.prompt_set_hash(job.params), params, read_counters, target.utc_now)
    return await Runner(job, workload, params, target, book).run()
