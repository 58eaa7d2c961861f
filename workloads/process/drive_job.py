"""What a person sets of a tool that Pitwall drives, and the file that `./pitwall drive` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

RESULTS = "results"  # the folder within the load's that the tool writes into


class DriveParams(BaseModel):
    """What a person sets; the rest follows from the server."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    executable: str = Field(min_length=1, max_length=4096)  # the tool, by its path
    concurrency: int = Field(default=1, ge=1, le=1024)
    prompt_tokens: int = Field(default=1000, ge=1, le=1_000_000)
    output_tokens: int = Field(default=200, ge=1, le=1_000_000)
    requests: int = Field(default=16, ge=1, le=100_000)
    tasks: str = Field(default="", max_length=500)  # with commas between; of BFCL also 'multi_turn=240', so many items
    limit: int | None = Field(default=None, ge=1)  # items a task
    tokenizer: str = Field(default="", max_length=4096)  # a name or a folder, for tools that need one
    endpoint: Literal["chat", "completions"] = "chat"  # of lm-eval
    model_args: str = Field(default="", max_length=2000)  # of lm-eval, behind those that follow from the server
    temperature: float = Field(default=0.001, ge=0.0, le=2.0)  # of BFCL
    most_steps: int = Field(default=20, ge=1, le=1000)  # of BFCL: of a turn
    more: tuple[str, ...] = ()  # words put behind the command as they stand

    @field_validator("tasks")
    @classmethod
    def _counts_are_numbers(cls, tasks: str) -> str:
        for task in tasks.split(","):
            name, said, count = task.partition("=")
            if said and not (name.strip() and count.strip().isdecimal() and int(count) > 0):
                raise ValueError(f"{task.strip()!r} is no task with a number of items, as 'multi_turn=240' is")
        return tasks


class DriveJob(BaseModel):
    """One run of a tool against one server, as Pitwall writes it and `./pitwall drive` reads it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    base_url: str
    model: str | None = None  # None: the first that /v1/models names
    tool: str
    params: DriveParams
    folder: Path  # of the load
    progress: Path
    inbox: Path

    @property
    def results(self) -> Path:
        return self.folder / RESULTS
