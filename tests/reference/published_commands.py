"""Launch commands that the source documents print in full."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("published_commands.json")


@dataclass(frozen=True, slots=True)
class PublishedCommand:
    """A launch command that a source prints in full, and the preset that generates it."""

    id: str
    source: str
    lines: tuple[int, int]
    config: str
    preset: str
    text: str


COMMANDS = tuple(
    PublishedCommand(**{**command, "lines": tuple(command["lines"])})
    for command in json.loads(FILE.read_text(encoding="utf-8"))
)
