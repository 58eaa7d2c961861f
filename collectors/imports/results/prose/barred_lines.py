"""Reads lines whose figures stand between bars, each with its own name: 'run 1 | ttft 81 ms | decode 45 tok/s'."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.prose.figure_marks import FIGURE

_BAR = re.compile(r"[ \t]{1,20}\|[ \t]{1,20}")
_RULE = re.compile(r"\s{0,12}[-=─]{3,400}\s{0,12}")
_NAMED = re.compile(r"[A-Za-z]{2,20}[ =:]")
_LEAST_LINES, _LEAST_FIGURES = 2, 2
MAX_LINE_CHARS = 400


def without_bars_of_figures(text: str) -> str:
    """Return a text with commas for the bars of such lines, and a colon behind the words that lead them.

    Below a head they are rows of a table and stay as they are.
    """
    lines = text.splitlines()
    for block in _blocks(lines):
        for index in block:
            lead, *figures = _BAR.split(lines[index].strip())
            lines[index] = f"{lead}: {', '.join(figures)}"
    return "\n".join(lines)


def _blocks(lines: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indexes of lines with bars that stand below each other, rules aside, if all are such lines."""
    block: list[int] = []
    for index, line in enumerate([*lines, ""]):
        if "|" in line:
            block.append(index)
        elif block and not _RULE.fullmatch(line[:MAX_LINE_CHARS]):
            if len(block) >= _LEAST_LINES and all(_lists_figures(lines[index]) for index in block):
                yield block
            block = []


def _lists_figures(line: str) -> bool:
    """Return whether a line has words without a figure, then figures between bars of which one bears a name."""
    lead, *cells = _BAR.split(line.strip()) if len(line) <= MAX_LINE_CHARS else [""]
    figures = [cell for cell in cells if FIGURE.search(cell)]
    is_led = lead[:1].isalnum() and "|" not in lead and not FIGURE.search(lead)
    return is_led and len(figures) >= _LEAST_FIGURES and any(map(_NAMED.match, figures))
