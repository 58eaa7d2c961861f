"""SPEC.json: one run of a workload against one server, as Pitwall writes it and `./pitwall load` reads it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from domain import JsonValue


class Job(BaseModel):
    """What to send, to whom, and where the results go."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    base_url: str = Field(pattern=r"^https?://")
    model: str | None = None  # None: the first that /v1/models names
    engine: str = "other"
    reasoning_parser: str | None = None  # that the server's command names
    workload: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    out: Path  # requests.jsonl, appended to
    progress: Path  # replaced whole at every change
    api_key_env: str = "SERVER_API_KEY"  # the variable that may hold the server's key, which is never in a file
    client_processes: int | None = Field(default=None, ge=1, le=8)  # None: one, and further ones where it is not enough
    stall_timeout_s: float = Field(default=300.0, gt=0)
    request_timeout_s: float = Field(default=3600.0, gt=0)


class Progress(BaseModel):
    """How far a job is; written to `Job.progress`."""

    run_id: str
    workload: str
    state: str  # running | paused | done | cancelled
    phase: str | None = None  # the title of the phase under way
    done: int = 0  # requests that have ended, errors among them
    total: int  # of an adaptive workload: so far
    errors: int = 0
    output_tokens: int = 0  # that the server has counted so far
    looping: int = 0  # streams under way whose text repeats itself now
    looping_since_word: int | None = None  # of that which began first in its text
    remaining_s: float | None = None  # at the pace so far, pauses aside; None before the first request has ended
    updated_at: str  # ISO 8601, UTC


def write_progress(path: Path, progress: Progress) -> None:
    """Replace the file at once: a reader sees the old or the new one, never a part."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(progress.model_dump_json())
    partial.replace(path)
