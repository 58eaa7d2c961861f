"""Extracts the bars and lines of Mermaid's charts as tables: 'x-axis [1, 8]', 'y-axis "tok/s"', 'bar [45.5, 310.5]'."""

from __future__ import annotations

import re

from collectors.imports.results.prose.tables import Table

_START = re.compile(r"\s{0,12}xychart(?:-beta)?(?: horizontal)?\s*")
_TITLE = re.compile(r"\s{0,12}title {1,8}\"?(?P<title>[^\"\n]{1,200}?)\"?\s*")
_AXIS = re.compile(
    r"\s{0,12}(?P<axis>[xy])-axis(?: {1,8}\"(?P<name>[^\"]{1,100})\")?(?: {1,8}\[(?P<values>[^\[\]]{1,2000})\])?.*"
)
_SERIES = re.compile(
    r"\s{0,12}(?:bar|line)(?: {1,8}\"(?P<name>[^\"]{1,100})\")? {1,8}\[(?P<values>[^\[\]]{1,2000})\]\s*"
)
MAX_LINES, MAX_LINE_CHARS = 40, 2500


def read_charts(text: str) -> tuple[list[Table], str]:
    """Return a table for each chart with two axes, and the text with their lines left empty."""
    lines, tables = text.splitlines(), []
    for start, line in enumerate(lines):
        if "xychart" not in line or not _START.fullmatch(line[:MAX_LINE_CHARS]):
            continue
        end = next((at for at in range(start, min(start + MAX_LINES, len(lines))) if "```" in lines[at]), len(lines))
        if table := _chart([line[:MAX_LINE_CHARS] for line in lines[start:end][:MAX_LINES]], start + 1):
            tables.append(table)
            lines[start:end] = [""] * (end - start)
    return tables, "\n".join(lines)


def _chart(lines: list[str], first_line: int) -> Table | None:
    axes = {match["axis"]: match for line in lines if (match := _AXIS.fullmatch(line))}
    series = [(number, match) for number, line in enumerate(lines) if (match := _SERIES.fullmatch(line))]
    if set(axes) != {"x", "y"} or not axes["x"]["values"] or not axes["y"]["name"] or not series:
        return None
    title = next((match["title"] for line in lines if (match := _TITLE.fullmatch(line))), "")
    places = _values(axes["x"]["values"])
    # A line often repeats the tops of the bars.
    columns = {tuple(_values(match["values"])): match["name"] or "" for _, match in reversed(series)}
    columns = {values: name for values, name in reversed(columns.items()) if len(values) == len(places)}
    heads = [axes["x"]["name"] or "", *(f"{name} {axes['y']['name']}".strip() for name in columns.values())]
    rows = [
        list(row) for row in zip([f"{title}: {place}" if title else place for place in places], *columns, strict=True)
    ]
    return Table(first_line, heads, rows, title, row_lines=[first_line + series[0][0]] * len(rows)) if columns else None


def _values(written: str) -> list[str]:
    return [value.strip().strip('"') for value in written.split(",")]
