"""Parts printed summaries that a person pasted beside each other, so that each is read as it was printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

MAX_LINE_CHARS = 1_000
MAX_LINES = 200
GAP = re.compile(r"\t{1,9}| {3,400}| {1,9}\| {1,9}")


class SummaryColumn(NamedTuple):
    """A summary of several beside each other: its lines, and the words above it."""

    heading: str
    lines: Sequence[str]


def parted_columns(lines: Sequence[str], opens: Callable[[str], bool]) -> tuple[list[SummaryColumn], list[str]]:
    """Return the summaries that stand beside each other, and the lines with theirs left empty.

    `opens`: whether a text is the opening line of a summary.
    """
    columns: list[SummaryColumn] = []
    remaining_lines = [*lines]
    for index, line in enumerate(lines):
        starts = _starts(line, opens)
        if not starts:
            continue
        end = index + 1
        while end < min(len(lines), index + MAX_LINES) and _is_row(lines[end], starts):
            end += 1
        above = lines[index - 1] if index and _is_row(lines[index - 1], starts) else ""
        for start, stop in zip(starts, [*starts[1:], None], strict=True):
            heading = above[start:stop].strip()
            columns.append(SummaryColumn(heading, [row[start:stop].rstrip(" |") for row in lines[index:end]]))
        remaining_lines[index:end] = [""] * (end - index)
    return columns, remaining_lines


def _starts(line: str, opens: Callable[[str], bool]) -> list[int]:
    """Return where the opening lines begin that stand beside each other; nothing for one alone."""
    if len(line) > MAX_LINE_CHARS or line.count("==") < 4:
        return []
    starts = [0, *(match.end() for match in GAP.finditer(line.rstrip()))]
    parts = [line[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
    are_openings = len(parts) > 1 and all(opens(part.rstrip(" |\t")) for part in parts)
    return starts if are_openings else []


def _is_row(line: str, starts: Sequence[int]) -> bool:
    """Return whether a line has something in each column, and each begins where the opening lines do."""
    is_short = len(line) <= MAX_LINE_CHARS and len(line) > starts[-1]
    return is_short and all(line[start - 1 : start].isspace() and not line[start].isspace() for start in starts[1:])
