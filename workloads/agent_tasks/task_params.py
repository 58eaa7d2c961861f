"""Parameters of the load 'agent-task', and the placeholders in its commands and variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from redaction import is_reference, is_secret_name, mask_text

PLACEHOLDERS = ("base_url", "key", "model", "folder")
HAS_SECRET = (
    "it holds a secret, which the store would keep: write {key} for the server's key, and name other variables in "
    "pass_env"
)
Word = Annotated[str, Field(max_length=32_768)]
Argv = Annotated[tuple[Word, ...], Field(min_length=1, max_length=200)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]


class AgentTaskParams(BaseModel):
    """Parameters set by the operator; the commands are argument lists, and no shell reads them."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    agent: Argv
    check: Argv  # exit code 0: the task is solved
    folder: str = Field(max_length=4096)  # absolute; copied for each repeat
    task: str = Field(default="", max_length=80)  # its name; '': that of the folder
    repeats: int = Field(default=5, ge=1, le=100)
    time_limit_s: float = Field(default=900.0, gt=0, le=86_400)
    check_limit_s: float = Field(default=120.0, gt=0, le=86_400)
    env: dict[VariableName, Word] = Field(default_factory=dict, max_length=100)
    pass_env: tuple[VariableName, ...] = Field(default=(), max_length=100)  # secrets of the environment that it needs
    version: tuple[Word, ...] = Field(default=(), max_length=200)  # argv that prints the agent's version
    copy_mib: int = Field(default=512, ge=1, le=65_536)
    copy_files: int = Field(default=20_000, ge=1, le=1_000_000)
    output_kib: int = Field(default=1024, ge=1, le=1_048_576)  # of the agent's output, and of the check's

    @field_validator("folder")
    @classmethod
    def _folder_is_absolute(cls, folder: str) -> str:
        if not Path(folder).is_absolute():
            raise ValueError("give the folder's absolute path")
        return folder

    @field_validator("task")
    @classmethod
    def _task_is_readable(cls, task: str) -> str:
        if not task.isprintable():
            raise ValueError("the name of a task has no line breaks or control characters")
        return task

    @model_validator(mode="after")
    def _holds_no_secret(self) -> Self:
        """Refuse secrets, since commands and variables are stored as they are typed."""
        commands = (" ".join(argv).replace("{key}", "$KEY") for argv in (self.agent, self.check, self.version))
        variables = [(name, value.replace("{key}", "$KEY")) for name, value in self.env.items()]
        is_secret = any(is_secret_name(name, value) and not is_reference(value) for name, value in variables)
        texts = (*commands, *(value for _, value in variables), self.task, self.folder)
        if is_secret or any(mask_text(text) != text for text in texts):
            raise ValueError(HAS_SECRET)
        return self

    @property
    def title(self) -> str:
        """Name of the task in results."""
        return task_title(self.model_dump())


def task_title(params: Mapping[str, Any]) -> str:
    """Return the name of a task by its parameters, such as those of a stored load."""
    return str(params.get("task") or Path(str(params.get("folder") or "")).name or "task")


def filled(words: Iterable[str], values: dict[str, str]) -> list[str]:
    """Return the words with {base_url}, {key}, {model} and {folder} replaced; other braces stay."""
    pattern = re.compile("|".join(re.escape(f"{{{name}}}") for name in PLACEHOLDERS))
    return [pattern.sub(lambda match: values[match[0][1:-1]], word) for word in words]
