"""Leaves out the lines of a text that state the speed of a warm-up."""

from __future__ import annotations

import re

from collectors.imports.results.prose.units import may_have_figure

_OF_WARM_UP = re.compile(
    r".{0,300}\(warm[- ]?up(?: run)?\)\s{0,20}"
    r"|\W{0,12}warm[- ]?up(?: run)?(?: \d{1,2}(?:/\d{1,2})?)? ?[:=].{1,300}",
    re.IGNORECASE,
)


def without_warm_ups(text: str) -> tuple[str, int]:
    """Return a text with such lines left empty, and how many they are; rows of tables stay."""
    lines, left_out = text.splitlines(), 0
    for index, line in enumerate(lines):
        if "warm" in line.lower() and "|" not in line and _OF_WARM_UP.fullmatch(line) and may_have_figure(line):
            lines[index] = ""
            left_out += 1
    return "\n".join(lines), left_out
