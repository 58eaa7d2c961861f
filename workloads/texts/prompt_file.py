"""Reads the user's files of prompts and recorded sessions, up to a size limit; errors name the line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from domain import JsonValue
from errors import PitwallError
from machine.regular_file import NotRegularError, open_regular, pin_path

MAX_BYTES = 64 << 20
MAX_LINES = 20_000
MOST_SECONDS = 30 * 86_400.0

ChatMessage = dict[str, JsonValue]
Line = TypeVar("Line", bound=BaseModel)


class PlanError(PitwallError):
    """A workload cannot be planned from its file; the message is one sentence."""


class OwnPrompt(BaseModel):
    """One line of a file of prompts."""

    model_config = ConfigDict(extra="ignore")
    prompt: str = ""
    messages: list[ChatMessage] = Field(default_factory=list)
    prompt_class: str = Field(default="Own", alias="class", max_length=60)
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def check_content(self) -> OwnPrompt:
        """Reject a line with neither prompt nor messages; raises ValueError for pydantic."""
        if not (self.prompt or self.messages):
            raise ValueError("it has neither prompt nor messages")
        return self


class RecordedSession(BaseModel):
    """One line of a file of sessions: a chat with its answers, as a client recorded it."""

    model_config = ConfigDict(extra="ignore")
    messages: list[ChatMessage] = Field(min_length=2)
    tools: list[ChatMessage] = Field(default_factory=list)
    think_s: list[Annotated[float, Field(ge=0.0, le=3600.0)]] = Field(default_factory=list)  # before each answer
    starts_s: Annotated[float, Field(ge=0.0, le=MOST_SECONDS)] = 0.0  # its first request, since that of the first chat
    ends_s: Annotated[float, Field(ge=0.0, le=MOST_SECONDS)] | None = None  # its last answer, likewise

    @model_validator(mode="after")
    def check_answer(self) -> RecordedSession:
        """Reject a session without an answer after its first message; raises ValueError for pydantic."""
        if not any(message.get("role") == "assistant" for message in self.messages[1:]):
            raise ValueError("it has no assistant message after a question")
        return self


def typed_prompts(text: str) -> list[OwnPrompt]:
    """Return one prompt per line; raises PlanError if there are none."""
    prompts = [OwnPrompt(prompt=line.strip()) for line in text.splitlines() if line.strip()]
    if not prompts:
        raise PlanError("There is no prompt.")
    return prompts


def read_prompts(path: str) -> list[OwnPrompt]:
    """Read the prompts of a file of JSON lines or plain lines; raises PlanError."""
    lines = read_lines(path)
    is_json = bool(lines) and lines[0][1].startswith(b"{")
    return [
        parse_json_line(path, number, OwnPrompt, line) if is_json else OwnPrompt(prompt=line.decode(errors="replace"))
        for number, line in lines
    ]


def read_sessions(path: str) -> list[RecordedSession]:
    """Read the sessions of a file of JSON lines; raises PlanError."""
    return [parse_json_line(path, number, RecordedSession, line) for number, line in read_lines(path)]


def parse_json_line(path: str, number: int, line_type: type[Line], line: bytes) -> Line:
    """Return a line as its type; raises PlanError with the line's number."""
    try:
        return TypeAdapter(line_type).validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = ".".join(map(str, first["loc"]))
        raise PlanError(
            f"{Path(path).name}, line {number}: {f'{location}: ' if location else ''}{first['msg']}."
        ) from error


def read_lines(path: str) -> list[tuple[int, bytes]]:
    """Return the lines of a file with their numbers, without empty ones; raises PlanError."""
    if not path:
        raise PlanError("There is no file name.")
    try:
        with open_regular(pin_path(Path(path).expanduser())) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, NotRegularError) as error:
        raise PlanError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    if len(data) > MAX_BYTES:
        raise PlanError(f"{path} is larger than {MAX_BYTES >> 20} MiB.")
    lines = list(_number_lines(data))
    if not lines or len(lines) > MAX_LINES:
        raise PlanError(f"{path} has {'no lines' if not lines else f'more than {MAX_LINES:,} lines'}.")
    return lines


def _number_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    return ((number, line.strip()) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())
