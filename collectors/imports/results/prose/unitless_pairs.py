"""Notes the lines of pairs of a context and a value without a unit: 'with a draft: 1k=68 20k=63'."""

from __future__ import annotations

import re

MAX_LINE_CHARS, MOST_LINES = 200, 6
_PAIRS = re.compile(r"\s{0,12}[^:=|]{0,60}:?(?:[\s,;]{1,4}\d{1,4}[kK]\s?[=:]\s?\d{1,6}(?:\.\d{1,3})?){2,12}\s*")


def note_unitless_pairs(text: str) -> str | None:
    """Return a note on such lines, whose values may be speeds; None without any."""
    lines = [
        " ".join(line.split()) for line in text.splitlines() if len(line) <= MAX_LINE_CHARS and _PAIRS.fullmatch(line)
    ]
    if not lines:
        return None
    listed = "; ".join(f"“{line}”" for line in lines[:MOST_LINES])
    others = f"; and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    return f"Left out, since they state no unit, were the values of the lines {listed}{others}."
