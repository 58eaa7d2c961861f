"""Collects an answer's tool calls, from the pieces of a stream or from a complete answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pydantic import BaseModel, TypeAdapter, ValidationError

from domain import JsonValue

MAX_CALLS = 64
MAX_ARGUMENT_CHARS = 1 << 20


class FunctionPiece(BaseModel):
    """`function` of a piece: its name, and the next part of its arguments as JSON text."""

    name: str | None = None
    arguments: str | None = None


class CallPiece(BaseModel):
    """Entry of a delta's `tool_calls`."""

    index: int = 0
    id: str | None = None
    function: FunctionPiece = FunctionPiece()


PIECES = TypeAdapter(list[CallPiece])


@dataclass(slots=True)
class ToolCall:
    """A tool call received so far."""

    id: str | None = None
    name: str = ""
    arguments: str = ""

    @property
    def has_valid_arguments(self) -> bool:
        """Whether the arguments are a JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(slots=True)
class ToolCalls:
    """Tool calls of one answer by index."""

    calls: dict[int, ToolCall] = field(default_factory=dict)
    has_malformed: bool = False  # a piece that does not follow the API

    def take(self, pieces: JsonValue) -> None:
        """Add the pieces of one delta."""
        try:
            call_pieces = PIECES.validate_python(pieces)
        except ValidationError:
            self.has_malformed = True
            return
        for piece in call_pieces:
            if len(self.calls) >= MAX_CALLS and piece.index not in self.calls:
                self.has_malformed = True
                continue
            call = self.calls.setdefault(piece.index, ToolCall())
            call.id = piece.id or call.id
            call.name += piece.function.name or ""
            call.arguments = (call.arguments + (piece.function.arguments or ""))[:MAX_ARGUMENT_CHARS]

    def take_whole(self, calls: JsonValue) -> None:
        """Add the calls of a complete answer, which have no index but an id and a name."""
        call_list = calls if isinstance(calls, list) else []
        self.take([{**call, "index": index} for index, call in enumerate(call_list) if isinstance(call, dict)])
        self.has_malformed |= bool(calls) and len(self.calls) != len(call_list)

    @property
    def ordered(self) -> list[ToolCall]:
        """Calls in the order of their index."""
        return [call for _, call in sorted(self.calls.items())]

    def as_json(self) -> list[JsonValue]:
        """Return, for RequestRecord.extra, the name of each call and whether its arguments parse."""
        return [{"name": call.name[:100], "parses": call.has_valid_arguments} for call in self.ordered]
