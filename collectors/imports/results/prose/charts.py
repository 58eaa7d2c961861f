"""Extracts the bars and lines of Mermaid's charts as tables: 'x-axis [1, 8]', 'y-axis "tok/s"', 'bar [45.5, 310.5]'."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from collectors.imports.results.prose.tables import Table

_START = re.compile(r"\s{0,12}xychart(?:-beta)?(?: horizontal)?\s*")
_TITLE = re.compile(r"\s{0,12}title {1,8}\"?(?P<title>[^\"\n]{1,200}?)\"?\s*")
_AXIS = re.compile(
    r"\s{0,12}(?P<axis>[xy])-axis(?: {1,8}\"(?P<name>[^\"]{1,100})\")?(?: {1,8}\[(?P<values>[^\[\]]{1,2000})\])?.*"
)
_SERIES = re.compile(
    r"\s{0,12}(?:bar|line)(?: {1,8}\"(?P<name>[^\"]{1,100})\")? {0,8}\[(?P<values>[^\[\]]{1,2000})\]\s*"
)
_COMMENT = re.compile(r"\s{0,12}(?:%%|acc(?:Title|Descr))")
MAX_LINES, MAX_LINE_CHARS = 40, 2500


def read_charts(text: str) -> tuple[list[Table], str]:
    """Return a table for each chart with two axes, and the text with their lines left empty."""
    lines, tables = text.splitlines(), []
    for start, line in enumerate(lines):
        if "xychart" not in line or not _START.fullmatch(line[:MAX_LINE_CHARS]):
            continue
        end = _end_of(lines, start)
        if table := _chart([line[:MAX_LINE_CHARS] for line in lines[start:end]], start + 1):
            tables.append(table)
            lines[start:end] = [""] * (end - start)
    return tables, "\n".join(lines)


def _end_of(lines: Sequence[str], start: int) -> int:
    """Return the line behind the last one of a chart: what follows it, or another chart, is not its own."""
    end = start + 1
    for at in range(start + 1, min(start + MAX_LINES, len(lines))):
        line = lines[at][:MAX_LINE_CHARS]
        if any(pattern.fullmatch(line) for pattern in (_TITLE, _AXIS, _SERIES)):
            end = at + 1
        elif line.strip() and not _COMMENT.match(line):
            break
    return end


def _chart(lines: list[str], first_line: int) -> Table | None:
    axes = {match["axis"]: match for line in lines if (match := _AXIS.fullmatch(line))}
    series = [(number, match) for number, line in enumerate(lines) if (match := _SERIES.fullmatch(line))]
    if set(axes) != {"x", "y"} or not axes["x"]["values"] or not axes["y"]["name"] or not series:
        return None
    title = next((match["title"] for line in lines if (match := _TITLE.fullmatch(line))), "")
    places = _values(axes["x"]["values"])
    columns: list[tuple[str, list[str]]] = []
    for _, match in series:
        name, values = match["name"] or "", _values(match["values"])
        # A line often repeats the tops of the bars, and has no name of its own.
        is_repeated = any(values == values_of_column and "" in (name, other) for other, values_of_column in columns)
        columns += [] if is_repeated or len(values) != len(places) else [(name, values)]
    heads = [axes["x"]["name"] or "", *(f"{name} {axes['y']['name']}".strip() for name, _ in columns)]
    names = [f"{title}: {place}" if title else place for place in places]
    rows = [list(row) for row in zip(names, *(values for _, values in columns), strict=True)]
    return Table(first_line, heads, rows, title, row_lines=[first_line + series[0][0]] * len(rows)) if columns else None


def _values(written: str) -> list[str]:
    return [value.strip() for value in next(csv.reader([written], skipinitialspace=True), [])]
