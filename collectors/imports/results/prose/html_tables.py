"""Extracts the tables that are written in HTML, as READMEs and copied pages have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import NamedTuple

from collectors.imports.results.prose.number_text import without_note_marks
from collectors.imports.results.prose.tables import MAX_CELLS, Table

_EDGE = re.compile(r"<table\b[^<>]{0,2000}>|(?P<end></table>)", re.IGNORECASE)
_DELETED = re.compile(r"<(del|s|strike|script|style)\b[^<>]{0,200}>[^<\n]{0,2000}</\1>", re.IGNORECASE)
_NO_BREAK = re.compile(r"[^\r\n]")
_NO_TAG = re.compile(r"<(?!/?[a-zA-Z][^<>]{0,2000}>)")
MAX_MARKUP_CHARS = 1_000_000
MAX_SPAN = 50
MAX_ROWS = 20_000


class _Cell(NamedTuple):
    text: str
    rows: int
    columns: int
    is_head: bool


class _Rows(HTMLParser):
    """The cells of a table's rows, and the line of each row, from 0."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[_Cell]] = []
        self.lines: list[int] = []
        self.caption = ""
        self._text: list[str] | None = None
        self._cell = _Cell("", 1, 1, is_head=False)
        self._is_of_head = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._close()
            self.rows.append([])
            self.lines.append(self.getpos()[0] - 1)
        elif tag == "thead":
            self._is_of_head = True
        elif tag in ("td", "th"):
            self._close()
            spans = {name: int(value) for name, value in attrs if value and value.isdecimal() and len(value) < 4}
            rows, columns = (min(spans.get(name, 1), MAX_SPAN) for name in ("rowspan", "colspan"))
            rows, columns = rows or MAX_SPAN, columns or 1  # a cell of 0 rows goes down to the last
            self._cell, self._text = _Cell("", rows, columns, tag == "th" or self._is_of_head), []
        elif tag == "caption":
            self._text = []
        elif tag == "br" and self._text is not None:
            self._text.append("<br>")

    def handle_endtag(self, tag: str) -> None:
        if tag == "caption" and self._text is not None:
            self.caption, self._text = " ".join("".join(self._text).split()), None
        elif tag in ("td", "th", "tr", "table"):
            self._close()
        elif tag == "thead":
            self._is_of_head = False

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def _close(self) -> None:
        """Add the cell that was read, if there is one."""
        if self._text is not None and self.rows:
            self.rows[-1].append(self._cell._replace(text=" ".join("".join(self._text).split())))
        self._text = None


def read_html_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables, and the text with their lines left empty; of nested tables the innermost, outside comments."""
    tables: list[Table] = []
    other_texts, end, line = [], 0, 1
    shown_text = _without_comments(text)
    for start, close in _passages(shown_text):
        line += text.count("\n", end, start)
        table = _table(shown_text[start:close], line)
        breaks = text.count("\n", start, close)
        other_texts.append(text[end:start] + "\n" * breaks if table else text[end:close])
        tables += [table] if table else []
        line += breaks
        end = close
    return tables, "".join([*other_texts, text[end:]])


def _passages(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each table begins and ends: at the end of the text if nothing closes it."""
    start: int | None = None
    for edge in _EDGE.finditer(text):
        if edge["end"] is None:
            start = edge.start()
        elif start is not None:
            yield start, edge.end()
            start = None
    if start is not None:
        yield start, len(text)


def _without_comments(text: str) -> str:
    """Return a text of the same length with blanks for its comments; what is never closed is none."""
    before, *parts = text.split("<!--")
    texts = [before]
    for part in parts:
        comment, closing, remaining_text = part.partition("-->")
        texts.append(f"{_NO_BREAK.sub(' ', f'<!--{comment}-->')}{remaining_text}" if closing else f"<!--{part}")
    return "".join(texts)


def _table(markup: str, line: int) -> Table | None:
    """Return the table of a passage, None without a row of heads above others."""
    if len(markup) > MAX_MARKUP_CHARS:
        return None
    parser = _Rows()
    markup = without_note_marks(_DELETED.sub("", markup))
    parser.feed(_NO_TAG.sub("&lt;", markup))  # the parser takes quadratic time for marks that nobody closes
    parser.close()
    rows = [(at, cells) for at, cells in zip(parser.lines, parser.rows, strict=True) if cells][:MAX_ROWS]
    grid = _filled([cells for _, cells in rows])
    head_count = next(
        (number for number, (_, cells) in enumerate(rows) if not all(c.is_head for c in cells)), len(rows)
    )
    head_count = head_count or _spanned_rows([cells for _, cells in rows])
    if len(grid) <= head_count:
        return None
    heads = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*grid[:head_count], strict=False)]
    lines = [line + at for at, _ in rows]
    return Table(lines[0], heads, grid[head_count:], parser.caption[:200], row_lines=lines[head_count:])


def _spanned_rows(rows: Sequence[Sequence[_Cell]]) -> int:
    """Return how many rows of plain cells are heads: those that a cell of the first spans, or the names of a group."""
    first = rows[0] if rows else []
    has_group = len(first) > 1 and any(cell.columns > 1 for cell in first)
    spans = [cell.rows for cell in first if cell.rows < MAX_SPAN]
    return max([1 + has_group, *spans])


def _filled(rows: list[list[_Cell]]) -> list[list[str]]:
    """Return the texts of the rows, those of cells that span several rows or columns in each of these."""
    grid: list[list[str]] = []
    above: dict[int, tuple[str, int]] = {}  # column -> text and rows that are left
    for cells in rows:
        row: list[str] = []
        below = {column: (text, count - 1) for column, (text, count) in above.items() if count > 1}
        remaining, width = iter(cells), max(above, default=-1) + 1
        cell = next(remaining, None)
        while (cell or len(row) < width) and len(row) < MAX_CELLS:
            if cell is None or len(row) in above:
                row.append(above.get(len(row), ("", 0))[0])  # a row may lack cells
                continue
            for _ in range(cell.columns):
                if cell.rows > 1:
                    below[len(row)] = (cell.text, cell.rows - 1)
                row.append(cell.text)
            cell = next(remaining, None)
        above = below
        grid.append(row)
    return grid
