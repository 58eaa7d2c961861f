"""Reads users' files of prompts and recorded sessions, up to a size limit; errors name the line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from domain import JsonValue
from errors import PitwallError
from machine.regular_file import NotRegularError, opened, pinned

MOST_BYTES = 64 << 20
MOST_LINES = 20_000

ChatMessage = dict[str, JsonValue]
Line = TypeVar("Line", bound=BaseModel)


class PlanError(PitwallError):
    """A workload cannot be planned from the file that it names; the message is one sentence."""


class OwnPrompt(BaseModel):
    """One line of a file of prompts."""

    model_config = ConfigDict(extra="ignore")
    prompt: str = ""
    messages: list[ChatMessage] = Field(default_factory=list)
    prompt_class: str = Field(default="Own", alias="class", max_length=60)
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def says_something(self) -> OwnPrompt:
        """Refuse a line with neither prompt nor messages; raises ValueError, for pydantic."""
        if not (self.prompt or self.messages):
            raise ValueError("it holds neither prompt nor messages")
        return self


class RecordedSession(BaseModel):
    """One line of a file of sessions: a chat with its answers, as a client recorded it."""

    model_config = ConfigDict(extra="ignore")
    messages: list[ChatMessage] = Field(min_length=2)
    tools: list[ChatMessage] = Field(default_factory=list)
    think_s: list[Annotated[float, Field(ge=0.0, le=3600.0)]] = Field(default_factory=list)  # before each answer

    @model_validator(mode="after")
    def has_an_answer(self) -> RecordedSession:
        """Refuse a session without an answer after its first message; raises ValueError, for pydantic."""
        if not any(message.get("role") == "assistant" for message in self.messages[1:]):
            raise ValueError("no message of it is an assistant's, after a question")
        return self


def typed_prompts(text: str) -> list[OwnPrompt]:
    """A prompt a line; raises PlanError where there is none."""
    found = [OwnPrompt(prompt=line.strip()) for line in text.splitlines() if line.strip()]
    if not found:
        raise PlanError("No prompt is given.")
    return found


def read_prompts(path: str) -> list[OwnPrompt]:
    """The prompts of a file: JSON lines, or plain lines; raises PlanError."""
    lines = _lines(path)
    is_json = bool(lines) and lines[0][1].startswith(b"{")
    return [
        _parsed(path, number, OwnPrompt, line) if is_json else OwnPrompt(prompt=line.decode(errors="replace"))
        for number, line in lines
    ]


def read_sessions(path: str) -> list[RecordedSession]:
    """The sessions of a file of JSON lines; raises PlanError."""
    return [_parsed(path, number, RecordedSession, line) for number, line in _lines(path)]


def _parsed(path: str, number: int, kind: type[Line], line: bytes) -> Line:
    try:
        return TypeAdapter(kind).validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise PlanError(f"{Path(path).name}, line {number}: {f'{where}: ' if where else ''}{first['msg']}.") from error


def _lines(path: str) -> list[tuple[int, bytes]]:
    if not path:
        raise PlanError("No file is named.")
    try:
        with opened(pinned(Path(path).expanduser())) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, NotRegularError) as error:
        raise PlanError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if len(data) > MOST_BYTES:
        raise PlanError(f"{path} is larger than {MOST_BYTES >> 20} MiB.")
    found = list(_numbered(data))
    if not found or len(found) > MOST_LINES:
        raise PlanError(f"{path} holds {'no line' if not found else f'more than {MOST_LINES:,} lines'}.")
    return found


def _numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    return ((number, line.strip()) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())
