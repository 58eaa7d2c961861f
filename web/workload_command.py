"""How a run's load generator is started, its job written down and the argv that reads it; and how far it is."""

from __future__ import annotations

import sys
from pathlib import Path

from domain import Run
from launcher.processes.process import WORKLOAD
from workloads.job import Job, Progress

REQUESTS_FILE = "requests.jsonl"
PROGRESS_FILE = "progress.json"


def prepare_workload(run: Run, directory: Path) -> list[str]:
    """Write the job of this run's workload into `directory`; the argv of the process that does it."""
    if run.workload is None or run.base_url is None:
        raise ValueError(f"run {run.id} has no workload, or no address to send it to")
    job = Job(
        run_id=run.id,
        base_url=run.base_url,
        model=run.config.served_model_name,
        engine=run.config.engine,
        workload=run.workload.name,
        params=run.workload.params,
        out=directory / REQUESTS_FILE,
        progress=directory / PROGRESS_FILE,
    )
    path = directory / "job.json"
    path.write_text(job.model_dump_json(indent=1))
    return [sys.executable, "-m", "workloads", "run", str(path)]


def read_progress(run: Run) -> Progress | None:
    """How far the load of a run is; None before it has begun."""
    path = Path(run.run_dir) / WORKLOAD / PROGRESS_FILE if run.run_dir else None
    return Progress.model_validate_json(path.read_bytes()) if path and path.exists() else None
