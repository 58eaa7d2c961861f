"""The Markdown tables of a text, with the line on which each begins; a text of other lines is what is left."""

from __future__ import annotations

import re
from typing import NamedTuple

RULE = re.compile(r"\|?\s*:?-{2,200}:?\s*(?:\|\s*:?-{2,200}:?\s*){1,100}\|?\s*")
MOST_CELLS = 200


class Table(NamedTuple):
    """Cells as they stand there; `line` is that of the head, from 1, and `rows` begin two lines below it."""

    line: int
    heads: list[str]
    rows: list[list[str]]
    title: str = ""  # the line above it


def read_tables(text: str) -> tuple[list[Table], str]:
    """The tables, and the text with their lines left empty."""
    lines, tables = text.splitlines(), []
    place = 0
    while place < len(lines) - 1:
        if "|" in lines[place] and len(lines[place + 1]) < 4096 and RULE.fullmatch(lines[place + 1]):
            end = place + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [cells_of(line) for line in lines[place + 2 : end]]
            above = next((line for line in reversed(lines[max(0, place - 3) : place]) if line.strip()), "")
            tables.append(Table(place + 1, _heads(cells_of(lines[place]), rows), rows, above.strip()[:200]))
            lines[place:end] = [""] * (end - place)
            place = end
        place += 1
    return tables, "\n".join(lines)


def _heads(heads: list[str], rows: list[list[str]]) -> list[str]:
    """The heads; one whose first, empty cell was lost on the way has an empty last one above full cells instead."""
    is_shifted = heads[0] and not heads[-1] and any(len(row) == len(heads) and row[-1] for row in rows)
    return ["", *heads[:-1]] if is_shifted else heads


def cells_of(line: str) -> list[str]:
    """What stands between the bars."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in inner.split("|")[:MOST_CELLS]]
