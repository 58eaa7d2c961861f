"""`python -m workloads run SPEC.json` puts a server under load; `... report requests.jsonl` prints what came out."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

import httpx
from pydantic import BaseModel, ValidationError

from workloads import REGISTRY
from workloads.client import Target, open_client
from workloads.job import Job
from workloads.records import read_records
from workloads.runner import Runner
from workloads.summary import summary

EXIT_UNUSABLE = 1


class ModelCard(BaseModel):
    id: str


class ModelList(BaseModel):
    data: list[ModelCard]


async def first_model(base_url: str, api_key: str | None) -> str:
    """The first name that /v1/models tells, or 'default' where it tells none: its requests will say what is wrong."""
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        async with open_client() as client, asyncio.timeout(30):
            answer = await client.get(base_url.rstrip("/") + "/v1/models", headers=headers)
        cards = ModelList.model_validate_json(answer.content).data
    except (httpx.HTTPError, TimeoutError, ValidationError):
        cards = []
    return cards[0].id if cards else "default"


async def run_job(job: Job) -> int:
    """Go through the job's workload; raises pydantic's ValidationError on wrong parameters."""
    workload = REGISTRY[job.workload]
    params = workload.params_type.model_validate(job.params)
    api_key = os.environ.get(job.api_key_env)
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
    return await Runner(job, workload.plan(job.params), target).run()


def run(spec: Path) -> int:
    try:
        job = Job.model_validate_json(spec.read_bytes())
        if job.workload not in REGISTRY:
            raise LookupError(f"no workload is called {job.workload!r}; there are {', '.join(REGISTRY)}")
        return asyncio.run(run_job(job))
    except ValidationError as error:
        first = error.errors()[0]
        print(f"{spec}: {'.'.join(map(str, first['loc']))}: {first['msg']}", file=sys.stderr)
    except (OSError, LookupError) as error:
        print(f"{spec}: {error}", file=sys.stderr)
    return EXIT_UNUSABLE


def report(results: Path) -> int:
    try:
        print(summary(list(read_records(results.read_text().splitlines()))))
    except ValidationError:
        print(f"{results} holds a line that is not a request record", file=sys.stderr)
    except OSError as error:
        print(f"{results}: {error.strerror}", file=sys.stderr)
    else:
        return 0
    return EXIT_UNUSABLE


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workloads", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="go through a workload").add_argument("spec", type=Path)
    commands.add_parser("report", help="print a text summary").add_argument("results", type=Path)
    flags = parser.parse_args()
    return run(flags.spec) if flags.command == "run" else report(flags.results)


if __name__ == "__main__":
    sys.exit(main())
