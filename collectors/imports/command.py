"""`python -m collectors import` at a terminal: hand files in, show how far they are, say what became of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from collectors.imports.inbox import Job, Status, drop, forget, new_job_id, status_of

LOOK_EVERY_S = 0.2


def hand_in(folder: Path, files: Sequence[Path], zone: str | None, name: str | None) -> list[Job]:
    """A job for each file."""
    jobs = []
    for file in files:
        job = Job(id=new_job_id(datetime.now(UTC)), path=file.absolute(), shown_name=file.name, zone=zone, name=name)
        drop(folder, job)
        jobs.append(job)
    return jobs


def wait_for(folder: Path, jobs: Sequence[Job]) -> int:
    """Until each job is over; exit status 0 if all files were taken."""
    return max([_wait(folder, job) for job in jobs])


def _wait(folder: Path, job: Job) -> int:
    while not (status := status_of(folder, job.id)).is_over:
        _show(job, status)
        time.sleep(LOOK_EVERY_S)
    forget(folder, job.id)
    out = sys.stdout if status.state == "done" else sys.stderr
    out.write(("\r" if sys.stderr.isatty() else "") + f"{status.text}\n")
    return 0 if status.state == "done" else 1


def _show(job: Job, status: Status) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{job.shown_name}: {100 * status.share:3.0f} %")
        sys.stderr.flush()
