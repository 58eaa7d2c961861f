"""Parts of a prompt as a recording stores them: keyed hashes, sizes, kinds and names, no text.

A request's parts are stored as an edit of those of the request that it follows, so that a session grows linearly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain import JsonValue

PREFIX = "prefix"  # in a request's `extra`
MOST_PARTS = 4096  # of one request
PIECE_BYTES = 256
PIECE_HEX = 8  # characters of a piece's hash


class PartKind(StrEnum):
    """Kinds of parts, in the order of the groups: settings, tools, system, messages."""

    SETTING = "setting"
    TOOL = "tool"
    SYSTEM = "system"
    TEXT = "text"
    IMAGE = "image"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


GROUPS = (PartKind.SETTING, PartKind.TOOL, PartKind.SYSTEM)  # every other kind belongs to a message


class PromptPart(NamedTuple):
    """One part of a prompt: a setting, tool, system block or block of a message.

    name: of a setting or tool; the role of a text. pieces: hashes of its pieces of PIECE_BYTES, in order.
    """

    digest: str
    kind: PartKind
    name: str | None
    size_bytes: int
    pieces: tuple[str, ...]

    @property
    def is_message(self) -> bool:
        return self.kind not in GROUPS


class StoredPart(BaseModel):
    """Details of a part, stored with the first request that has it."""

    model_config = ConfigDict(extra="forbid")
    kind: PartKind
    name: str | None = Field(default=None, max_length=64)
    bytes: int = Field(ge=0)
    pieces: str = Field(default="", max_length=PIECE_HEX * MOST_PARTS)


class StoredPrefix(BaseModel):
    """What a recording stores of a request's prompt.

    order: digests, and [start, count] for parts of the followed request. is_cut: it has more than MOST_PARTS.
    """

    model_config = ConfigDict(extra="forbid")
    session: str
    follows: str | None = None
    order: list[str | tuple[int, int]] = Field(default_factory=list, max_length=MOST_PARTS)
    parts: dict[str, StoredPart] = Field(default_factory=dict)
    is_cut: bool = False


def stored_prefix(extra: Mapping[str, JsonValue]) -> StoredPrefix | None:
    """Return the stored prompt of a request; None if its recording stored none, or something else."""
    try:
        return StoredPrefix.model_validate(extra[PREFIX]) if extra.get(PREFIX) else None
    except ValidationError:
        return None


def stored_part(part: PromptPart) -> dict[str, JsonValue]:
    """Return a part's details as JSON."""
    return {"kind": part.kind.value, "name": part.name, "bytes": part.size_bytes, "pieces": "".join(part.pieces)}


def part_of(digest: str, stored: StoredPart) -> PromptPart:
    """Return the part with these details."""
    starts = range(0, len(stored.pieces), PIECE_HEX)
    pieces = tuple(stored.pieces[start : start + PIECE_HEX] for start in starts)
    return PromptPart(digest, stored.kind, stored.name, stored.bytes, pieces)


def encode_order(digests: Sequence[str], base: Sequence[str]) -> list[JsonValue]:
    """Return the digests as an edit of `base`: runs of its parts as [start, count], others as they are."""
    position_of = {digest: position for position, digest in reversed(list(enumerate(base)))}
    order: list[JsonValue] = []
    run_start, run_end = 0, 0
    for digest in digests:
        if run_end > run_start and run_end < len(base) and base[run_end] == digest:
            run_end += 1
            order[-1] = [run_start, run_end - run_start]
        elif digest in position_of:
            run_start = position_of[digest]
            run_end = run_start + 1
            order.append([run_start, 1])
        else:
            run_start = run_end = 0
            order.append(digest)
    return order


def decode_order(order: Sequence[str | tuple[int, int]], base: Sequence[str]) -> list[str] | None:
    """Return the digests of an edit of `base`; None if it refers to parts that are not there, or has too many."""
    digests: list[str] = []
    for entry in order:
        if isinstance(entry, str):
            digests.append(entry)
            continue
        start, count = entry
        if start < 0 or count < 1 or start + count > len(base) or len(digests) + count > MOST_PARTS:
            return None
        digests += base[start : start + count]
    return digests if len(digests) <= MOST_PARTS else None
