"""JOB.json: one recording as Pitwall writes it and `./pitwall record --job` reads it, and how far it is."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from domain import Run
from machine.private_files import write_private
from workloads.process.prepare import COMMAND_LINE, requests_of

STATUS_FILE, JOB_FILE = "recorder.json", "job.json"
RECORDER_TOKEN = "RECORDER_TOKEN"  # the variable by which it is told the token that its clients must send
MOST_MINUTES = 24 * 60


class RecorderAsk(BaseModel):
    """What the operator sets."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    minutes: float = Field(default=60.0, gt=0, le=MOST_MINUTES)
    keeps_text: bool = False


class RecorderJob(BaseModel):
    """For which run, and where everything goes; the token and the server's key are in no file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    base_url: str = Field(pattern=r"^https?://")
    out: Path  # requests.jsonl, appended to
    status: Path  # replaced whole at every change
    ask: RecorderAsk


class RecorderStatus(BaseModel):
    """As the recorder reports it."""

    model_config = ConfigDict(frozen=True)
    base_url: str  # for clients
    load_id: str
    expires_at: AwareDatetime
    keeps_text: bool
    requests: int = 0


def prepare_recorder(run: Run, directory: Path, ask: RecorderAsk) -> list[str]:
    """Write the job into `directory`; the argv of the process that does it."""
    assert run.base_url
    job = RecorderJob(
        run_id=run.id, base_url=run.base_url, out=requests_of(run), status=directory / STATUS_FILE, ask=ask
    )
    path = directory / JOB_FILE
    write_private(path, job.model_dump_json(indent=1).encode())
    return [sys.executable, str(COMMAND_LINE), "record", "--job", str(path)]


def write_status(path: Path, status: RecorderStatus) -> None:
    """Raises OSError."""
    write_private(path, status.model_dump_json().encode())


def read_status(directory: Path) -> RecorderStatus | None:
    """None before it listens, and of a file that is none of ours."""
    try:
        return RecorderStatus.model_validate_json((directory / STATUS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def status_of(port: int, load_id: str, expires_at: datetime, keeps_text: bool) -> RecorderStatus:
    """The status of a recorder that has just opened this port of the loopback."""
    return RecorderStatus(
        base_url=f"http://127.0.0.1:{port}/v1", load_id=load_id, expires_at=expires_at, keeps_text=keeps_text
    )
