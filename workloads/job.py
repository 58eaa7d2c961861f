"""Job file (SPEC.json) of one load, written by Pitwall and read by `./pitwall load`, and its progress file."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from domain import JsonValue


class LoadJob(BaseModel):
    """A load: its workload, server and output files."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    base_url: str = Field(pattern=r"^https?://")
    model: str | None = None  # None: the first in /v1/models
    engine: str = "other"
    reasoning_parser: str | None = None  # from the server's command
    workload: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    out: Path  # requests.jsonl, appended to
    progress: Path  # replaced at every change
    api_key_env: str = "SERVER_API_KEY"  # name of the variable with the server's key, which is never in a file
    client_processes: int | None = Field(default=None, ge=1, le=8)  # None: one, and more if it is not enough
    stall_timeout_s: float = Field(default=300.0, gt=0)
    request_timeout_s: float = Field(default=3600.0, gt=0)


class LoadProgress(BaseModel):
    """Progress of a load; written to `LoadJob.progress`."""

    run_id: str
    workload: str
    state: str  # running | paused | done | cancelled
    phase: str | None = None  # title of the current phase
    done: int = 0  # requests that have ended, including errors
    total: int  # of an adaptive workload: planned so far
    errors: int = 0
    output_tokens: int = 0  # counted by the server so far
    looping: int = 0  # running streams whose text repeats itself now
    looping_since_word: int | None = None  # the earliest word at which one of them began to loop
    remaining_s: float | None = None  # at the pace so far without pauses; None before the first request has ended
    updated_at: str  # ISO 8601, UTC


def write_progress(path: Path, progress: LoadProgress) -> None:
    """Replace the file atomically: a reader sees the old or the new one, never a part."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(progress.model_dump_json())
    partial.replace(path)
