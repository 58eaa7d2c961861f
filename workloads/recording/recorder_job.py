"""Job and status files of a recording: the job is written by Pitwall and read by `./pitwall record --job`."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from domain import Run
from machine.private_files import write_private
from workloads.process.prepare import COMMAND_LINE, requests_file

STATUS_FILE, JOB_FILE = "recorder.json", "job.json"
RECORDER_TOKEN = "RECORDER_TOKEN"  # variable with the token that clients must send
MAX_MINUTES = 24 * 60


class RecorderOptions(BaseModel):
    """Options set by the operator."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    minutes: float = Field(default=60.0, gt=0, le=MAX_MINUTES)
    keeps_text: bool = False


class RecorderJob(BaseModel):
    """A recording: its run, server and files; token and server key are in no file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    base_url: str = Field(pattern=r"^https?://")
    out: Path  # requests.jsonl, appended to
    status: Path  # replaced at every change
    ask: RecorderOptions


class RecorderStatus(BaseModel):
    """Status reported by the recorder."""

    model_config = ConfigDict(frozen=True)
    base_url: str  # for clients
    load_id: str
    expires_at: AwareDatetime
    keeps_text: bool
    requests: int = 0


def prepare_recorder(run: Run, directory: Path, ask: RecorderOptions) -> list[str]:
    """Write the job into `directory`; returns the argv of its process."""
    assert run.base_url
    job = RecorderJob(
        run_id=run.id, base_url=run.base_url, out=requests_file(run), status=directory / STATUS_FILE, ask=ask
    )
    path = directory / JOB_FILE
    write_private(path, job.model_dump_json(indent=1).encode())
    return [sys.executable, str(COMMAND_LINE), "record", "--job", str(path)]


def write_status(path: Path, status: RecorderStatus) -> None:
    """Write the status file; raises OSError."""
    write_private(path, status.model_dump_json().encode())


def read_status(directory: Path) -> RecorderStatus | None:
    """Read the status; None before the recorder listens, or if the file is invalid."""
    try:
        return RecorderStatus.model_validate_json((directory / STATUS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def initial_status(port: int, load_id: str, expires_at: datetime, keeps_text: bool) -> RecorderStatus:
    """Return the status of a recorder that has just opened this loopback port."""
    return RecorderStatus(
        base_url=f"http://127.0.0.1:{port}/v1", load_id=load_id, expires_at=expires_at, keeps_text=keeps_text
    )
