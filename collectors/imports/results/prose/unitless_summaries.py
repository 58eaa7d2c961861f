"""Adds the units that a tool leaves out: `load_test.py` of Fireworks (ms)."""

from __future__ import annotations

import re
from typing import NamedTuple


class UnitlessTool(NamedTuple):
    """A tool whose summaries state no units: how one begins, what tells it from others, and the unit of each line."""

    opening: re.Pattern[str]
    mark: str
    units: tuple[tuple[re.Pattern[str], str], ...]


_TOOLS = (
    UnitlessTool(
        re.compile(r"Provider {1,20}: .{1,80}"),
        "Latency Per Token",
        ((re.compile(r"(?:Time To First Token|Latency Per Token|Total Latency) {0,20}: \d{1,9}\.\d{1,18}"), "ms"),),
    ),
)
_LINE = re.compile(r"\s{0,12}[A-Z][\w ]{2,60}: .{1,120}")


def with_units(text: str) -> str:
    """Return a text with the units behind such numbers."""
    for tool in _TOOLS:
        text = _with_units_of(text, tool) if tool.mark in text else text
    return text


def _with_units_of(text: str, tool: UnitlessTool) -> str:
    lines, is_summary = text.splitlines(), False
    for index, line in enumerate(lines):
        is_summary = len(line) < 200 and (
            tool.opening.fullmatch(line) is not None or (is_summary and _LINE.fullmatch(line) is not None)
        )
        unit = next((unit for pattern, unit in tool.units if pattern.fullmatch(line.rstrip())), None)
        if is_summary and unit:
            lines[index] = f"{line.rstrip()} {unit}"
    return "\n".join(lines)
