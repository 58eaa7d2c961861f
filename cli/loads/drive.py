"""`./pitwall drive JOB.json`: runs another benchmark tool against a server and submits its results for import.

Pitwall starts it under a load's shim.
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
    help_text = "run another benchmark tool for a load and import its results (started by Pitwall)"
    command = commands.add_parser("drive", help=help_text, description=help_text)
    command.add_argument("job", type=Path, metavar="JOB.json")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Return the tool's exit status; REFUSED if it cannot start or leaves no results; 0 if it was cancelled."""
    import asyncio

    from pydantic import ValidationError

    from redaction import SERVER_API_KEY
    from workloads.process.drive_job import DriveJob
    from workloads.process.external_tools import TOOLS, commands_of
    from workloads.process.start import first_model

    os.umask(0o077)
    for order in (signal.SIGUSR1, signal.SIGUSR2):  # pause and resume, which a tool cannot do
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
        if _has_files(partial_result := job.results / TOOLS[job.tool].result):
            _submit_result(job, partial_result, is_cut=True)
        _report(job, "cancelled")
        return 0
    return _finish(job, status)


def _tool_process(job: DriveJob) -> ToolProcess:
    from redaction import SERVER_API_KEY
    from workloads.process.external_tool_commands import environment
    from workloads.process.external_tools import TOOLS
    from workloads.process.tool_process import ToolProcess

    last_progress: list[tuple[int, int]] = []

    def read_progress(output: str) -> None:
        parsed = TOOLS[job.tool].parse_progress(output)
        current = (parsed[0], parsed[1] or job.params.requests) if parsed else None
        if current and current[1] > 0 and last_progress[-1:] != [current]:
            last_progress[:] = [current]
            _report(job, "running", *current)

    secret = os.environ.get(SERVER_API_KEY, "")
    return ToolProcess(job.folder, environment(job, os.environ), read_progress, secret=secret)


def _finish(job: DriveJob, status: int) -> int:
    """Submit the results; return the exit status."""
    from workloads.process.external_tools import TOOLS

    result = job.results / TOOLS[job.tool].result
    if status == 0 and not _has_files(result):
        print(f"{TOOLS[job.tool].title} succeeded but left no results at {result}.", file=sys.stderr)
        return REFUSED
    if status == 0:
        _submit_result(job, result)
    _report(job, "done", 1)
    return status


def _has_files(result: Path) -> bool:
    return result.is_file() or (result.is_dir() and any(result.iterdir()))


def _submit_result(job: DriveJob, result: Path, is_cut: bool = False) -> None:
    from datetime import UTC, datetime

    from collectors.imports.inbox import ImportJob, new_job_id, submit_job
    from workloads.process.external_tools import command_of, tool_options

    import_job = ImportJob(
        id=new_job_id(datetime.now(UTC)), path=result, shown_name=f"{job.tool} {result.name}", run=job.run_id,
        command=tuple(command_of(job)), is_cut=is_cut, asked=tool_options(job),
    )  # fmt: skip
    submit_job(job.inbox, import_job)


def _report(job: DriveJob, state: str, completed: int = 0, total: int = 1) -> None:
    from domain import utc_now
    from workloads.job import LoadProgress, write_progress

    progress = LoadProgress(
        run_id=job.run_id, workload=f"drive:{job.tool}", state=state, phase="see workload.log", done=completed,
        total=max(total, completed), updated_at=utc_now().isoformat(),
    )  # fmt: skip
    write_progress(job.progress, progress)
