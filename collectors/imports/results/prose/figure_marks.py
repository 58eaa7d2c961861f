"""Tells which lines of a text may hold a figure: a number with a unit of speed, time or share."""

from __future__ import annotations

import re

from collectors.imports.results.prose.units import RATES, may_have_figure, pattern_of

BULLET = re.compile(r"\s{0,16}(?:[-*•+] |\d{1,2}[.)] )\s{0,4}")
_FIGURE_UNITS = f"{pattern_of(*RATES)}|{pattern_of('ms', 's', '%', factor=1.0)}"
FIGURE = re.compile(rf"\dk? ?(?:{_FIGURE_UNITS})(?!\w)|(?<![\w/])(?:{_FIGURE_UNITS})[)\]]?\W{{1,8}}\d", re.IGNORECASE)
NUMBER_WITH_UNIT = re.compile(rf"\d[\d.,]{{0,15}}k? ?(?:{_FIGURE_UNITS})(?!\w)", re.IGNORECASE)
MAX_LINE_CHARS = 240
PAIR_WITH_UNIT = re.compile(  # 'ttft_p50_ms = 81.5'
    r"(?<![\w/])[A-Za-z]\w{0,40}_(?:m?s|sec|tps|toks?_s|tok(?:en)?s?_per_s(?:ec)?)(?:_\w{1,10})?\s{0,20}[:=]\s{0,40}\d",
    re.IGNORECASE,
)


def lines_with_figures(text: str) -> list[int]:
    """Return the numbers of the lines, from 1, that have a number with a unit, or a unit."""
    return [
        number for number, line in enumerate(text.splitlines(), 1)
        if len(line) <= MAX_LINE_CHARS and may_have_figure(line)
        and (FIGURE.search(line) or PAIR_WITH_UNIT.search(line))
    ]  # fmt: skip
