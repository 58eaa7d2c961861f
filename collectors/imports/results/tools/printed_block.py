"""Reads what stands around a printed block of results: its heading, and the command that printed it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from collectors.imports.results.tools.printed import number_or_text
from domain import JsonValue

FENCE = re.compile(r"\s{0,12}`{3,4}\w{0,20}\s{0,12}")
PROGRESS_BAR = "%|"
NO_HEADING = re.compile(r"[|{}]|\d%|https?://| --\w|: +[-+\d.]|\w=|^(?:INFO|WARNING|ERROR|DEBUG|\[|\$|>)")
MAX_LINES_ABOVE = 4
MAX_HEADING_CHARS = 80
FLAG = re.compile(r"(?<!\S)-{1,2}(?P<name>[A-Za-z][\w-]{0,40})(?:(?:=| {1,8})(?P<value>[^\s\\-][^\s\\]{0,300}))?")
MAX_COMMAND_LINES = 60
MAX_LINE_CHARS = 4_000


def heading_above(lines: Sequence[str], start: int, end_above: int = 0) -> str | None:
    """Return the short line of words above the block that begins at `start`, below the block that ends above it."""
    for line in reversed(lines[max(end_above, start - MAX_LINES_ABOVE) : start]):
        if not line.strip() or FENCE.fullmatch(line[:40]) or PROGRESS_BAR in line:
            continue
        heading = line.strip().strip("#*:`\"' ")
        is_heading = 0 < len(heading) <= MAX_HEADING_CHARS and any(map(str.isalpha, heading))
        return heading if is_heading and not NO_HEADING.search(heading) else None
    return None


def heading_params(lines: Sequence[str], start: int, end_above: int = 0) -> dict[str, JsonValue]:
    """Return the heading above a block as a parameter of its load."""
    heading = heading_above(lines, start, end_above)
    return {"heading": heading} if heading else {}


def command_flags(lines: Sequence[str], program: re.Pattern[str], names: Iterable[str]) -> dict[str, JsonValue]:
    """Return these flags of the last command among the lines that calls the program; names have underscores."""
    start = next((i for i in range(len(lines) - 1, -1, -1) if program.search(lines[i][:MAX_LINE_CHARS])), None)
    if start is None:
        return {}
    parts = [lines[start][:MAX_LINE_CHARS]]
    for line in lines[start + 1 : start + MAX_COMMAND_LINES]:
        if not (parts[-1].rstrip().endswith("\\") or line.lstrip().startswith("--")):
            break
        parts.append(line[:MAX_LINE_CHARS])
    command = " ".join(part.rstrip().rstrip("\\") for part in parts)
    flags = [
        (match["name"].replace("-", "_"), match["value"].strip("\"'`,)") if match["value"] else None)
        for match in FLAG.finditer(command)
    ]
    return {name: number_or_text(value) for name, value in flags if name in set(names) and value}


def without_blocks(lines: Sequence[str], blocks: Iterable[tuple[int, int]]) -> str:
    """Return the text with the lines of blocks left empty; a block is its first line and the line behind its last."""
    remaining_lines = list(lines)
    for start, end in blocks:
        remaining_lines[start:end] = [""] * (end - start)
    return "\n".join(remaining_lines)


def renamed(values: Mapping[str, JsonValue], names: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return values under other names; a value that stands under its new name already is kept."""
    return {names.get(name, name): value for name, value in values.items() if names.get(name) not in values}
