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


_NUMBERED = re.compile(r"\W{0,12}warm[-_ ]?\d{1,2}\b.{1,300}", re.IGNORECASE)  # above every heading


def without_warm_ups(text: str) -> tuple[str, int]:
    """Return a text with such lines left empty, and how many they are; rows of tables stay."""
    lines, left_out, is_below_heading = text.splitlines(), 0, False
    bars = [index for index, line in enumerate(lines) if line.lstrip().startswith(_BARS) and line.strip(" =─-")]
    first_heading = bars[0] if any(_HEADING.fullmatch(lines[index]) for index in bars) else 0
    for index, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith(_BARS):
            is_below_heading = _HEADING.fullmatch(line) is not None
        patterns = (_OF_WARM_UP, _NUMBERED) if index < first_heading else (_OF_WARM_UP,)
        is_named = "warm" in line.lower() and any(pattern.fullmatch(line) for pattern in patterns)
        is_of_warm_up = is_below_heading or is_named
        if is_of_warm_up and "|" not in line and may_have_figure(line):
            lines[index] = ""
            left_out += 1
    return "\n".join(lines), left_out
