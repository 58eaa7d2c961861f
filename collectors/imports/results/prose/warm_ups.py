"""Leaves out the lines of a text that state the speed of a warm-up."""

from __future__ import annotations

import re

from collectors.imports.results.prose.units import may_have_figure

_OF_WARM_UP = re.compile(
    r".{0,300}\(warm[- ]?up(?: run)?\)\s{0,20}"
    r"|\W{0,12}warm[- ]?up(?: run)?(?: \d{1,2}(?:/\d{1,2})?)? ?[:=].{1,300}",
    re.IGNORECASE,
)
_BARS = ("===", "---", "───")
_HEADING = re.compile(r"\s{0,8}[=─-]{3,60} {1,4}warm[- ]?ups?(?: ?\(\d{1,3}\))? {1,4}[=─-]{3,60}\s*", re.IGNORECASE)


def without_warm_ups(text: str) -> tuple[str, int]:
    """Return a text with such lines left empty, and how many they are; rows of tables stay."""
    lines, left_out, is_below_heading = text.splitlines(), 0, False
    for index, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith(_BARS):
            is_below_heading = _HEADING.fullmatch(line) is not None
        is_of_warm_up = is_below_heading or ("warm" in line.lower() and _OF_WARM_UP.fullmatch(line) is not None)
        if is_of_warm_up and "|" not in line and may_have_figure(line):
            lines[index] = ""
            left_out += 1
    return "\n".join(lines), left_out
