"""Extracts the Markdown tables of a text with their line numbers, and returns the text without them."""

from __future__ import annotations

import re
from typing import NamedTuple

RULE = re.compile(r"\|?\s*:?-{1,200}:?\s*(?:\|\s*:?-{1,200}:?\s*){1,100}\|?\s*")
MAX_CELLS = 200


class Table(NamedTuple):
    """Cells of a table; `line` is that of the head, from 1, and `rows` begin two lines below it."""

    line: int
    heads: list[str]
    rows: list[list[str]]
    title: str = ""  # the line above it


def read_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables, and the text with their lines left empty."""
    lines, tables = text.splitlines(), []
    index = 0
    while index < len(lines) - 1:
        if "|" in lines[index] and len(lines[index + 1]) < 4096 and RULE.fullmatch(lines[index + 1]):
            end = index + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [cells_of(line) for line in lines[index + 2 : end]]
            title_line = next((line for line in reversed(lines[max(0, index - 3) : index]) if line.strip()), "")
            tables.append(Table(index + 1, _heads(cells_of(lines[index]), rows), rows, title_line.strip()[:200]))
            lines[index:end] = [""] * (end - index)
            index = end
        index += 1
    return tables, "\n".join(lines)


def _heads(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Return the heads, shifted back if their empty first cell was lost (then the last head is empty)."""
    is_shifted = heads[0] and not heads[-1] and any(len(row) == len(heads) and row[-1] for row in rows)
    return ["", *heads[:-1]] if is_shifted else heads


def cells_of(line: str) -> list[str]:
    """Split a line into its cells."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in inner.split("|")[:MAX_CELLS]]
