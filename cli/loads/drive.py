"""`./pitwall drive JOB.json`: run another benchmark tool against a server and import its results.

Pitwall starts it, under a load's shim.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import REFUSED

if TYPE_CHECKING:
    from workloads.process.driven import DriveJob


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    words = "run another benchmark tool as a load's file says, and hand its results in (Pitwall starts this)"
    command = commands.add_parser("drive", help=words, description=words)
    command.add_argument("job", type=Path, metavar="JOB.json")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """The tool's own exit status; REFUSED where it cannot be started or leaves no results."""
    from pydantic import ValidationError

    from redaction import SERVER_API_KEY
    from workloads.process.driven import TOOLS, DriveJob, command_of
    from workloads.process.start import first_model

    os.umask(0o077)
    try:
        job = DriveJob.model_validate_json(arguments.job.read_bytes())
    except ValidationError as error:
        print(f"{arguments.job}: {error.errors()[0]['msg']}", file=sys.stderr)
        return REFUSED
    if job.model is None:
        model = asyncio.run(first_model(job.base_url, os.environ.get(SERVER_API_KEY)))
        job = job.model_copy(update={"model": model})
    job.results.mkdir(parents=True, exist_ok=True)
    _tell(job, "running")
    try:
        status = asyncio.run(_run(command_of(job), job.folder))
    except OSError as error:
        print(f"{job.params.executable} cannot be started: {error.strerror}.", file=sys.stderr)
        return REFUSED
    result = job.results / TOOLS[job.tool].result
    if status == 0 and not (result.is_file() or (result.is_dir() and any(result.iterdir()))):
        print(f"{TOOLS[job.tool].title} ended well and left no results at {result}.", file=sys.stderr)
        return REFUSED
    if status == 0:
        _hand_in(job, result)
    _tell(job, "done")
    return status


async def _run(argv: list[str], folder: Path) -> int:
    """The tool's exit status; what it says goes where ours goes."""
    process = await asyncio.create_subprocess_exec(*argv, cwd=folder, stdin=asyncio.subprocess.DEVNULL)
    return await process.wait()


def _hand_in(job: DriveJob, result: Path) -> None:
    from datetime import UTC, datetime

    from collectors.imports.inbox import Job, drop, new_job_id

    given = Job(id=new_job_id(datetime.now(UTC)), path=result, shown_name=f"{job.tool} results", run=job.run_id)
    drop(job.inbox, given)


def _tell(job: DriveJob, state: str) -> None:
    from domain import utc_now
    from workloads.process.job import Progress, write_progress

    done = int(state == "done")
    told = Progress(
        run_id=job.run_id, workload=f"drive:{job.tool}", state=state, phase="see workload.log", done=done, total=1,
        updated_at=utc_now().isoformat(),
    )  # fmt: skip
    write_progress(job.progress, told)
