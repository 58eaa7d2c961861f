"""Tool calls as an answer brings them: piece by piece, joined to the whole, or at once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pydantic import BaseModel, TypeAdapter, ValidationError

from domain import JsonValue

MOST_CALLS = 64
MOST_ARGUMENT_CHARACTERS = 1 << 20


class FunctionPiece(BaseModel):
    """The `function` of a piece: its name, and the next part of its arguments as JSON text."""

    name: str | None = None
    arguments: str | None = None


class CallPiece(BaseModel):
    """One entry of a delta's `tool_calls`."""

    index: int = 0
    id: str | None = None
    function: FunctionPiece = FunctionPiece()


PIECES = TypeAdapter(list[CallPiece])


@dataclass(slots=True)
class ToolCall:
    """A call as far as it has come."""

    id: str | None = None
    name: str = ""
    arguments: str = ""

    @property
    def parses(self) -> bool:
        """Whether its arguments are a JSON object."""
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(slots=True)
class ToolCalls:
    """The calls of one answer by their index."""

    calls: dict[int, ToolCall] = field(default_factory=dict)
    has_malformed: bool = False  # a piece that is none of the API's

    def take(self, pieces: JsonValue) -> None:
        """Join what one delta brings."""
        try:
            given = PIECES.validate_python(pieces)
        except ValidationError:
            self.has_malformed = True
            return
        for piece in given:
            if len(self.calls) >= MOST_CALLS and piece.index not in self.calls:
                self.has_malformed = True
                continue
            call = self.calls.setdefault(piece.index, ToolCall())
            call.id = piece.id or call.id
            call.name += piece.function.name or ""
            call.arguments = (call.arguments + (piece.function.arguments or ""))[:MOST_ARGUMENT_CHARACTERS]

    def take_whole(self, calls: JsonValue) -> None:
        """Take the calls of an answer that is no stream: they have no index, but an id and a name each."""
        given = calls if isinstance(calls, list) else []
        self.take([{**call, "index": place} for place, call in enumerate(given) if isinstance(call, dict)])
        self.has_malformed |= bool(calls) and len(self.calls) != len(given)

    @property
    def ordered(self) -> list[ToolCall]:
        """The calls in the order of their index."""
        return [call for _, call in sorted(self.calls.items())]

    def as_json(self) -> list[JsonValue]:
        """For RequestRecord.extra: the name of each call, and whether its arguments parse."""
        return [{"name": call.name[:100], "parses": call.parses} for call in self.ordered]
