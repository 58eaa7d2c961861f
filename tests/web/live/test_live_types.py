"""The browser's types of the live messages name the same fields as the server's, and allow null in the same ones."""

from __future__ import annotations

import re
import typing
from pathlib import Path
from types import NoneType

import pytest
from pydantic import BaseModel

from web.live import protocol
from web.live.peers import foreign_frames

TYPES = Path(__file__).resolve().parents[3] / "web" / "types" / "live_protocol.d.ts"
SHAPES = [protocol.Series, protocol.Tile, protocol.PerPosition, protocol.LogLine]
SHAPES += [protocol.LiveNode, protocol.LiveMark, protocol.LiveMeta, protocol.LivePart]
ALWAYS_SENT = {"cursor"}  # LiveReader gives it in every part


def fields_in_javascript(name: str) -> dict[str, tuple[bool, bool]]:
    """Whether each field may be left out, and whether it may be null."""
    match = re.search(rf"export interface {name} {{\n(.*?)\n}}", TYPES.read_text(), re.DOTALL)
    assert match, f"{TYPES.name} has no {name}"
    lines = [re.fullmatch(r"  (\w+)(\??): (.+);", line) for line in match[1].splitlines()]
    return {line[1]: (line[2] == "?", line[3].endswith("| null")) for line in lines if line}


def fields_in_python(shape: type) -> dict[str, tuple[bool, bool]]:
    """The same of a TypedDict."""
    type_hints = typing.get_type_hints(shape, include_extras=True)
    may_miss = {name for name, value in type_hints.items() if typing.get_origin(value) is typing.NotRequired}
    if not shape.__total__:  # type: ignore[attr-defined]
        may_miss = set(type_hints) - ALWAYS_SENT
    nullable = {
        name for name, type_hint in typing.get_type_hints(shape).items() if NoneType in typing.get_args(type_hint)
    }
    return {name: (name in may_miss, name in nullable) for name in type_hints}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_both_sides_name_the_same_fields(shape: type) -> None:
    assert fields_in_javascript(shape.__name__) == fields_in_python(shape)


BELIEVED = [
    (protocol.Series, foreign_frames._PeerSeries),
    (protocol.Tile, foreign_frames._PeerTile),
    (protocol.PerPosition, foreign_frames._PeerPositions),
    (protocol.LogLine, foreign_frames._PeerLogLine),
    (protocol.LiveNode, foreign_frames._PeerNode),
    (protocol.LiveMark, foreign_frames._PeerMark),
    (protocol.LiveMeta, foreign_frames._PeerMeta),
    (protocol.LivePart, foreign_frames._PartFrame),
]


@pytest.mark.parametrize(("shape", "believed"), BELIEVED, ids=lambda one: one.__name__)
def test_relayed_protocol_loses_nothing(shape: type, believed: type[BaseModel]) -> None:
    of_the_frame = {"type", "run", "seq", "server_t"} if shape is protocol.LivePart else set()
    assert set(believed.model_fields) - of_the_frame == set(typing.get_type_hints(shape))
