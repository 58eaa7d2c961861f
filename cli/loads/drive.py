"""`./pitwall drive JOB.json`: run another benchmark tool against a server and import its results.

Pitwall starts it, under a load's shim.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import REFUSED

if TYPE_CHECKING:
    from workloads.process.drive_job import DriveJob
    from workloads.process.tool_process import ToolProcess


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall drive` to the parser."""
    words = "run another benchmark tool as a load's file says, and hand its results in (Pitwall starts this)"
    command = commands.add_parser("drive", help=words, description=words)
    command.add_argument("job", type=Path, metavar="JOB.json")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """The tool's own exit status; REFUSED where it cannot be started or leaves no results; 0 when it was cancelled."""
    import asyncio

    from pydantic import ValidationError

    from redaction import SERVER_API_KEY
    from workloads.process.drive_job import DriveJob
    from workloads.process.driven import TOOLS, commands_of
    from workloads.process.start import first_model

    os.umask(0o077)
    for order in (signal.SIGUSR1, signal.SIGUSR2):  # to pause and to go on: a tool cannot
        signal.signal(order, signal.SIG_IGN)
    try:
        job = DriveJob.model_validate_json(arguments.job.read_bytes())
    except ValidationError as error:
        print(f"{arguments.job}: {error.errors()[0]['msg']}", file=sys.stderr)
        return REFUSED
    if job.model is None:
        model = asyncio.run(first_model(job.base_url, os.environ.get(SERVER_API_KEY)))
        job = job.model_copy(update={"model": model})
    job.results.mkdir(parents=True, exist_ok=True)
    _report(job, "running")
    tool = _tool_process(job)
    try:
        status = asyncio.run(tool.run(commands_of(job)))
    except OSError as error:
        print(f"{job.params.executable} cannot be started: {error.strerror}.", file=sys.stderr)
        return REFUSED
    if tool.is_cancelled:
        if _has_files(left := job.results / TOOLS[job.tool].result):
            _hand_in(job, left, is_cut=True)
        _report(job, "cancelled")
        return 0
    return _ended(job, status)


def _tool_process(job: DriveJob) -> ToolProcess:
    from redaction import SERVER_API_KEY
    from workloads.process.driven import TOOLS
    from workloads.process.driven_commands import environment
    from workloads.process.tool_process import ToolProcess

    last: list[tuple[int, int]] = []

    def said(words: str) -> None:
        found = TOOLS[job.tool].progress_in(words)
        now = (found[0], found[1] or job.params.requests) if found else None
        if now and now[1] > 0 and last[-1:] != [now]:
            last[:] = [now]
            _report(job, "running", *now)

    secret = os.environ.get(SERVER_API_KEY, "")
    return ToolProcess(job.folder, environment(job, os.environ), said, secret=secret)


def _ended(job: DriveJob, status: int) -> int:
    """Hand in what it left; its exit status."""
    from workloads.process.driven import TOOLS

    result = job.results / TOOLS[job.tool].result
    if status == 0 and not _has_files(result):
        print(f"{TOOLS[job.tool].title} ended well and left no results at {result}.", file=sys.stderr)
        return REFUSED
    if status == 0:
        _hand_in(job, result)
    _report(job, "done", 1)
    return status


def _has_files(result: Path) -> bool:
    return result.is_file() or (result.is_dir() and any(result.iterdir()))


def _hand_in(job: DriveJob, result: Path, is_cut: bool = False) -> None:
    from datetime import UTC, datetime

    from collectors.imports.inbox import Job, drop, new_job_id
    from workloads.process.driven import asked_of, command_of

    given = Job(
        id=new_job_id(datetime.now(UTC)), path=result, shown_name=f"{job.tool} {result.name}", run=job.run_id,
        command=tuple(command_of(job)), is_cut=is_cut, asked=asked_of(job),
    )  # fmt: skip
    drop(job.inbox, given)


def _report(job: DriveJob, state: str, done: int = 0, total: int = 1) -> None:
    from domain import utc_now
    from workloads.process.job import Progress, write_progress

    progress = Progress(
        run_id=job.run_id, workload=f"drive:{job.tool}", state=state, phase="see workload.log", done=done,
        total=max(total, done), updated_at=utc_now().isoformat(),
    )  # fmt: skip
    write_progress(job.progress, progress)
