"""Extracts the Markdown tables of a text with their line numbers, and returns the text without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from collectors.imports.results.prose.consoles import FENCE
from collectors.imports.results.prose.units import pattern_of, unit_in

RULE = re.compile(r"\s{0,40}\|?\s*:?-{1,200}:?\s*(?:\|\s*:?-{1,200}:?\s*){1,100}\|?\s*")
BARS = str.maketrans("│┃║", "|||")
FRAME = re.compile(r"\s{0,40}[+├┼┤┌┬┐└┴┘╞╪╡┏┳┓┡╇┩┣╋┫┗┻┛╔╦╗╠╬╣╚╩╝─━═=-]{3,4000}\s{0,400}")
JUNCTION = re.compile(r"[+┼┬┴╪┳╇╋┻╦╬╩]")
FRAMES = tuple("│┃║+├┌└╞┏┡┣┗╔╠╚")
MAX_HEAD_LINES, MAX_ROW_LINES = 4, 3
MAX_CELLS = 200
MAX_TITLE_CHARS, MAX_TITLE_LINES = 200, 3
MIN_CELLS = 3
MAX_FLAT_COLUMNS, MAX_FLAT_CELL_CHARS = 16, 60
LEAST_FLAT_CELLS = 6  # heads and two rows of two columns
MOST_LINES_OF_TITLE, MOST_NAMES_OF_ROW = 3, 2
FLAT_NUMBER = re.compile(r"[~≈]?\d[\d.,]{0,20}(?: ?[A-Za-z%/×]{1,8})?|[-–—]|n/a", re.IGNORECASE)
FLAT_FIGURE = re.compile(rf"[~≈]?\d[\d.,]{{0,20}} ?{pattern_of('tok/s', 'ms', 's')}", re.IGNORECASE)


class Table(NamedTuple):
    """Cells of a table; `line` is that of the head, from 1, and `rows` begin two lines below it."""

    line: int
    heads: list[str]
    rows: list[list[str]]
    title: str = ""  # the line above it
    heading: str = ""  # what tells it from other tables: its sections, the label above it
    row_lines: Sequence[int] = ()  # the line of each row, if they are not below each other
    title_columns: frozenset[int] = frozenset()  # of plain numbers that have the unit of the title
    names_times: bool = False  # a column names a latency or a duration itself: the title is not that of the others
    level_rows: tuple[list[str], ...] = ()  # rows that state levels or lengths of the columns

    def line_of(self, row_number: int) -> int:
        """Return the line of a row, counted from 0; Markdown's first row stands below the rule."""
        return self.row_lines[row_number] if self.row_lines else self.line + 2 + row_number

    def numbered_rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield each row with its line."""
        return ((self.line_of(index), row) for index, row in enumerate(self.rows))


def read_tables(text: str) -> tuple[list[Table], str]:
    """Return the tables, and the text with their lines left empty."""
    lines = text.splitlines()
    is_framed = [line[:44].lstrip()[:1] in FRAMES for line in lines]
    lines, tables = [_without_frame(line) for line in lines], []
    index = 0
    while index < len(lines) - 1:
        is_headless = not is_framed[index + 1] and _is_headless(lines, index)
        is_ruleless = _is_ruleless(lines, index)
        if not is_ruleless and not (("|" in lines[index] or is_headless) and _is_rule(lines[index + 1])):
            index += 1
            continue
        if is_framed[index] and is_framed[index + 1] and len(cells_of(lines[index])) == 1:
            index += 1  # a title within the frame
            continue
        start = _first_line_of_head(lines, index) if is_framed[index + 1] else index
        heads = _joined(cells_of(line) for line in lines[start : index + 1])
        if is_headless:
            count = len(cells_of(lines[index + 1])) - 1
            heads = ["", *(f"column {column} of {count}" for column in range(1, count + 1))]
        rows, end = _rows(lines, index + (1 if is_ruleless else 2), len(heads), is_framed[index + 1])
        above = [line for line in lines[max(0, start - 3) : start] if line.strip() and not line.startswith(FENCE)]
        title = "" if not above or _is_rule(above[-1]) else _whole_title(lines, start, above)[:MAX_TITLE_CHARS]
        row_lines = [line for line, _ in rows]
        cells = [cells for _, cells in rows]
        tables.append(Table(index + 1, _heads(heads, cells), cells, title, row_lines=row_lines))
        lines[start:end] = [""] * (end - start)
        index = end + 1
    return tables, "\n".join(lines)


def _whole_title(lines: Sequence[str], start: int, above: Sequence[str]) -> str:
    """Return the last line above a table, with those before it in which its bracket begins."""
    title, at = above[-1].strip(), start - 1
    while at > 0 and not lines[at].strip():
        at -= 1
    for number in range(at - 1, max(-1, at - MAX_TITLE_LINES), -1):
        if title.count(")") <= title.count("(") or not lines[number].strip():
            break
        title = f"{lines[number].strip()} {title}"
    return title


def _is_rule(line: str) -> bool:
    return len(line) < 4096 and RULE.fullmatch(line) is not None


def _is_headless(lines: Sequence[str], index: int) -> bool:
    """Return whether a table has lost its heads: its rule stands below an empty line, and no other below its row."""
    rows = lines[index + 2 : index + 4]
    return not lines[index].strip() and "|" in "".join(rows[:1]) and not any(map(_is_rule, rows))


def _is_ruleless(lines: Sequence[str], index: int) -> bool:
    """Return whether a line is the head of a table that lost its rule: it names a unit, and two rows follow at once."""
    framed = [line.strip() for line in lines[index : index + 3]]
    if len(framed) < 3 or not all(line[:1] == line[-1:] == "|" and len(line) < 4096 for line in framed):
        return False
    heads = cells_of(framed[0])
    is_first = not index or "|" not in lines[index - 1]
    is_head = len(heads) >= MIN_CELLS and all(heads) and not any(map(FLAT_NUMBER.fullmatch, heads))
    has_rows = all(not _is_rule(line) and len(cells_of(line)) == len(heads) for line in framed[1:])
    return is_first and is_head and has_rows and any(map(unit_in, heads))


def _first_line_of_head(lines: Sequence[str], index: int) -> int:
    """Return where the head of a framed table begins, whose cells may have several lines; the frame is above it."""
    for start in range(index, max(-1, index - MAX_HEAD_LINES), -1):
        if start and _is_rule(lines[start - 1]):
            return start
        if not start or lines[start - 1].count("|") != lines[index].count("|"):
            break
    return index


def _rows(lines: Sequence[str], first: int, width: int, is_framed: bool) -> tuple[list[tuple[int, list[str]]], int]:
    """Return the rows from a line on, each with its line, from 1, and where they end; wrapped ones are whole again."""
    rows: list[tuple[int, list[str]]] = []
    end = first
    while end < len(lines) and "|" in lines[end]:
        if _is_rule(lines[end]):
            rows.append((end + 1, [""]))
            end += 1
            continue
        count = 1 if is_framed else _count_of_lines(lines, end, width)
        cells = cells_of(" ".join(lines[end : end + count]))
        if is_framed and rows and _continues(rows[-1][1], cells):
            rows[-1] = (rows[-1][0], _joined([rows[-1][1], cells]))
        else:
            rows.append((end + 1, cells))
        end += count
    return rows, end


def _count_of_lines(lines: Sequence[str], at: int, width: int) -> int:
    """Return how many lines make up a row that was broken: it lacks its last bar, and has all cells together."""
    first = lines[at].strip()
    if not first.startswith("|") or first.endswith("|") or len(cells_of(first)) >= width:
        return 1
    for count in range(2, MAX_ROW_LINES + 1):
        joined = " ".join(lines[at : at + count])
        following = lines[at + count - 1].strip() if at + count <= len(lines) else ""
        if not following or (len(cells_of(following)) >= width and following.startswith("|")):
            break
        if joined.rstrip().endswith("|") and len(cells_of(joined)) == width:
            return count
    return 1


def _continues(above: Sequence[str], cells: Sequence[str]) -> bool:
    """Return whether cells are a second line of the row above them: words below some of its cells, never a number."""
    is_of_row = len(cells) == len(above) and any(cells) and not any(map(str.isdigit, "".join(cells)))
    is_name = cells[0].startswith("(") and not any(cells[1:])
    is_below = not cells[0] and all(cell_above for cell_above, cell in zip(above, cells, strict=True) if cell)
    return is_of_row and (is_name or is_below)


def _joined(lines: Iterable[Sequence[str]]) -> list[str]:
    """Return the cells of several lines of a row as one."""
    return [" ".join(filter(None, column)) for column in zip_longest(*lines, fillvalue="")]


def read_flattened_tables(text: str, is_head: Callable[[str], bool]) -> tuple[list[Table], str]:
    """Return the tables of a copied page that has one cell on each line, and the text with their lines left empty.

    Empty lines may part the cells. The first lines of such a passage, behind a title, are heads, two of them by
    `is_head` or above figures; two rows or more follow, which begin alike with names and have numbers behind them.
    """
    lines, tables = text.splitlines(), []
    for passage in _passages(lines):
        if table := _flat_table([lines[index].strip() for index in passage], is_head):
            start, width, count = table
            cells = [lines[index].strip() for index in passage[start : start + width * count]]
            rows = [cells[at : at + width] for at in range(width, len(cells), width)]
            row_lines = [passage[start + at] + 1 for at in range(width, len(cells), width)]
            tables.append(Table(passage[start] + 1, cells[:width], rows, row_lines=row_lines))
            for index in passage[start : start + width * count]:
                lines[index] = ""
    return tables, "\n".join(lines)


def _passages(lines: Sequence[str]) -> Iterator[list[int]]:
    """Yield the lines of passages of short ones, first those without an empty line between them, then with one each."""
    for step in (1, 2):
        is_cell = [bool(line.strip()) and len(line) <= MAX_FLAT_CELL_CHARS for line in lines]
        index = 0
        while index < len(lines):
            passage = [index]
            while is_cell[index] and passage[-1] + step < len(lines) and _goes_on(lines, is_cell, passage[-1], step):
                passage.append(passage[-1] + step)
            if len(passage) >= LEAST_FLAT_CELLS:
                yield passage
            index = passage[-1] + 1


def _goes_on(lines: Sequence[str], is_cell: Sequence[bool], index: int, step: int) -> bool:
    """Return whether the next cell stands `step` lines below one, and nothing between them."""
    is_parted = step == 1 or not lines[index + 1].strip()
    return is_parted and is_cell[index + step]


def _flat_table(cells: Sequence[str], is_head: Callable[[str], bool]) -> tuple[int, int, int] | None:
    """Return where a table begins among cells, its columns, and its lines of cells with that of the heads.

    The lines before the first number are a title, the heads, and the names that the first row begins with.
    """
    first_number = next((index for index, cell in enumerate(cells) if FLAT_NUMBER.fullmatch(cell)), 0)
    for start in range(min(MOST_LINES_OF_TITLE, first_number)):
        for names in range(MOST_NAMES_OF_ROW + 1):
            width = first_number - start - names
            rows = _flat_rows(cells, start + width, width, names) if width > 1 else []
            rest = cells[start + width * (len(rows) + 1) :]
            is_whole = len(rows) > 1 and not any(map(FLAT_NUMBER.fullmatch, rest))
            if is_whole and width <= MAX_FLAT_COLUMNS and _are_flat_heads(cells[start : start + width], rows, is_head):
                return start, width, len(rows) + 1
    return None


def _flat_rows(cells: Sequence[str], start: int, width: int, names: int) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = []
    for at in range(start, len(cells) - width + 1, width):
        is_number = [FLAT_NUMBER.fullmatch(cell) is not None for cell in cells[at : at + width]]
        if any(is_number[:names]) or not all(is_number[names:]):
            break
        rows.append(cells[at : at + width])
    return rows


def _are_flat_heads(heads: Sequence[str], rows: Sequence[Sequence[str]], is_head: Callable[[str], bool]) -> bool:
    """Return whether two heads state units or stand above figures alone; a single one does beside names, above rows."""
    columns = list(zip(*rows, strict=True))
    is_of_unit = [
        is_head(head) or all(FLAT_FIGURE.fullmatch(cell) for cell in column)
        for head, column in zip(heads, columns, strict=True)
    ]  # fmt: skip
    is_pair = len(heads) == MIN_CELLS - 1 and is_head(heads[1]) and not FLAT_NUMBER.fullmatch(rows[0][0])
    return not is_of_unit[0] and (sum(is_of_unit) > 1 or is_pair)


def _without_frame(line: str) -> str:
    """Return a line of a table framed by boxes or plus signs as Markdown has it; any other line as it is."""
    start = line[:44].lstrip()[:1]
    if start in ("│", "┃", "║"):
        return line.translate(BARS)
    is_frame = start and start in "+├┌└╞┏┡┣┗╔╠╚" and FRAME.fullmatch(line[:4096])
    return f"|{'---|' * (len(JUNCTION.findall(line.strip()[1:-1])) + 1)}" if is_frame else line


def _heads(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Return the heads, shifted back if their empty first cell was lost (then the last head is empty)."""
    is_shifted = (
        heads[0] and not heads[-1] and heads.count("") == 1 and any(len(row) == len(heads) and row[-1] for row in rows)
    )
    return ["", *heads[:-1]] if is_shifted else heads


def cells_of(line: str) -> list[str]:
    """Split a line into its cells."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [" ".join(cell.split()) for cell in inner.split("|")[:MAX_CELLS]]
