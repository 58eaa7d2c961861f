"""Parameters of an external tool that Pitwall runs, and the job file that `./pitwall drive` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

RESULTS = "results"  # the tool's output folder within the load's folder
Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
TokenCounts = Annotated[tuple[Tokens, ...], Field(min_length=1, max_length=20)]


class DriveParams(BaseModel):
    """Parameters set by the user; everything else follows from the server."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    executable: str = Field(min_length=1, max_length=4096)  # path of the tool
    concurrency: int = Field(default=1, ge=1, le=1024)
    prompt_tokens: int = Field(default=1000, ge=1, le=1_000_000)
    output_tokens: int = Field(default=200, ge=1, le=1_000_000)
    prompt_token_counts: TokenCounts = (1000,)  # of llama-benchy, which measures each pair
    output_token_counts: TokenCounts = (200,)  # likewise
    requests: int = Field(default=16, ge=1, le=100_000)
    tasks: str = Field(default="", max_length=500)  # separated by commas; BFCL: 'multi_turn=240' sets a number of items
    limit: int | None = Field(default=None, ge=1)  # items per task
    tokenizer: str = Field(default="", max_length=4096)  # name or folder, for tools that need one
    endpoint: Literal["chat", "completions"] = "chat"  # of lm-eval
    model_args: str = Field(default="", max_length=2000)  # of lm-eval, after those that follow from the server
    temperature: float = Field(default=0.001, ge=0.0, le=2.0)  # of BFCL
    most_steps: int = Field(default=20, ge=1, le=1000)  # of BFCL: per turn
    more: tuple[str, ...] = ()  # appended to the command unchanged

    @model_validator(mode="before")
    @classmethod
    def _lists_from_single_counts(cls, values: Any) -> Any:
        """Loads that were stored before llama-benchy took lists have one count each."""
        if not isinstance(values, dict):
            return values
        pairs = (("prompt_token_counts", "prompt_tokens"), ("output_token_counts", "output_tokens"))
        return {many: (values[single],) for many, single in pairs if single in values} | values

    @field_validator("tasks")
    @classmethod
    def _counts_are_numbers(cls, tasks: str) -> str:
        for task in tasks.split(","):
            name, separator, count = task.partition("=")
            if separator and not (name.strip() and count.strip().isdecimal() and int(count) > 0):
                raise ValueError(f"{task.strip()!r} is not a task with a number of items, such as 'multi_turn=240'")
        return tasks


class DriveJob(BaseModel):
    """One run of a tool against one server, written by Pitwall and read by `./pitwall drive`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    base_url: str
    model: str | None = None  # None: the first in /v1/models
    tool: str
    params: DriveParams
    folder: Path  # of the load
    progress: Path
    inbox: Path

    @property
    def results(self) -> Path:
        return self.folder / RESULTS
