"""Prepares the start of a run's load generator: writes its job file and returns its argv."""

from __future__ import annotations

import sys
from pathlib import Path

from domain import Run, WorkloadSpec
from machine.private_files import write_private
from workloads.job import LoadJob, LoadProgress
from workloads.process.drive_job import DriveJob
from workloads.process.external_tools import drive_params, tool_of

COMMAND_LINE = Path(__file__).resolve().parents[2] / "pitwall"
REQUESTS_FILE = "requests.jsonl"
PROGRESS_FILE = "progress.json"


def prepare_workload(run: Run, directory: Path) -> list[str]:
    """Write the job of this run's workload into `directory`; returns the argv of its process."""
    if run.workload is None or run.base_url is None:
        raise ValueError(f"run {run.id} has no workload or no server address")
    if tool_of(run.workload.name):
        return _prepare_drive(run, run.workload, directory)
    job = LoadJob(
        run_id=run.id,
        base_url=run.base_url,
        model=run.config.served_model_name,
        engine=run.config.engine,
        reasoning_parser=run.config.reasoning_parser,
        workload=run.workload.name,
        params=run.workload.params,
        out=requests_file(run),
        progress=directory / PROGRESS_FILE,
    )
    path = directory / "job.json"
    write_private(path, job.model_dump_json(indent=1).encode())
    return [sys.executable, str(COMMAND_LINE), "load", str(path)]


def _prepare_drive(run: Run, workload: WorkloadSpec, directory: Path) -> list[str]:
    """Write the job of an external tool; its results are imported through the inbox of the data folder."""
    tool = tool_of(workload.name)
    assert tool and run.base_url and run.run_dir
    job = DriveJob(
        run_id=run.id,
        base_url=run.base_url.rstrip("/"),
        model=run.config.served_model_name,
        tool=tool.name,
        params=drive_params(workload.params),
        folder=directory,
        progress=directory / PROGRESS_FILE,
        inbox=Path(run.run_dir).parent.parent / "inbox",
    )
    path = directory / "job.json"
    write_private(path, job.model_dump_json(indent=1).encode())
    return [sys.executable, str(COMMAND_LINE), "drive", str(path)]


def requests_file(run: Run) -> Path:
    """Return the file to which all loads of a run write their requests, one writer at a time."""
    assert run.run_dir
    return Path(run.run_dir) / "workload" / REQUESTS_FILE


def read_progress(directory: Path) -> LoadProgress | None:
    """Return the progress of the load in this directory; None before it has begun."""
    path = directory / PROGRESS_FILE
    return LoadProgress.model_validate_json(path.read_bytes()) if path.exists() else None
