"""Extracts tables without a rule: columns parted by bars, blanks, tabs, commas or semicolons, printed DataFrames."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from collectors.imports.results.prose.heads import LEVEL_HEADS, RATE_HEAD, plain, with_units_below
from collectors.imports.results.prose.number_text import TIMED, has_no_value, read_cell, states_failure
from collectors.imports.results.prose.tables import Table, cells_of

GAP = re.compile(r"\t| {2,}")
RULE = re.compile(r"\s*[-=─]{2,200}(?:\s+[-=─]{2,200}){2,40}\s*")
WHOLE_RULE = re.compile(r"\s{0,12}(?:-{10,400}|={10,400}|─{10,400})\s{0,12}")  # below all heads
DASHES = re.compile(r"[-=─]{2,200}")
DIGIT = re.compile(r"\d|^[-—]$|^n/a$", re.IGNORECASE)
NUMBER = re.compile(r"[~≈]?[-+]?\d[\d.,]{0,20}(?:e[-+]?\d{1,3})?%?")
NAME = re.compile(r"[^\W\d_][\w .#%/()@+-]{0,60}|[#%]")  # of a separated column
REMARK = re.compile(r"\([^()]{1,60}\)|(?:←|<-|#).{1,60}")  # behind a row
VARIABLE = re.compile(r"[A-Za-z]\w*")
WORD = re.compile(r"\S{1,100}")
MIN_CELLS, MAX_CHARS = 3, 400
MOST_INDEX_NAMES = 3
MOST_PARTS = 10  # of a wide DataFrame
CONTINUED = "\\"  # ends the head of a wide DataFrame, whose other columns stand below
LEFT_OUT = ".."  # of a long DataFrame, the index of the rows that are not printed
ROW_NUMBER = re.compile(r"\d{1,9}(?= )")
IsHead = Callable[[str], bool]


class _Head(NamedTuple):
    """The name of a column, and where it ends in its line."""

    name: str
    end: int


class _AlignedBlock(NamedTuple):
    """Heads and rows that stand together, the first line of the rows, and the line behind them, both from 0."""

    heads: list[str]
    rows: list[list[str]]
    first: int
    end: int
    has_rule: bool = False
    has_index: bool = False  # of a DataFrame
    row_lines: Sequence[int] = ()  # from 1, if they are not below each other
    names_above: int = 0  # 1 if the line above has the names, and the heads the units


def read_column_tables(text: str, is_head: IsHead) -> tuple[list[Table], str]:
    """Return the tables, and the text with their lines left empty.

    Heads state units by `is_head`, and every row has a number below each of these; a single unit is enough above a
    rule, in a DataFrame, or above two rows. Heads without any stand above two rows whose figures have them.
    """
    lines, tables = text.splitlines(), []
    index = 0
    while index < len(lines) - 1:
        block = _aligned_block(lines, index, is_head) or _separated_block(lines, index, is_head)
        block = block or _block_of_figures(lines, index, is_head)
        if block is None:
            index += 1
            continue
        index -= block.names_above
        above = [line for line in lines[max(0, index - 2) : index] if line.strip()]
        # The rows of other tables stand two lines below their heads.
        title = above[-1].strip()[:200] if above else ""
        tables.append(Table(block.first - 1, block.heads, block.rows, title, row_lines=block.row_lines))
        lines[index : block.end] = [""] * (block.end - index)
        index = block.end
    return tables, "\n".join(lines)


def _aligned_block(lines: Sequence[str], index: int, is_head: IsHead) -> _AlignedBlock | None:
    """Return the table of aligned columns whose heads are a line; None if there is none."""
    block = _block(lines, index, is_head)
    parts = 0
    while block and block.heads[-1] == CONTINUED and parts < MOST_PARTS:
        parts += 1
        following = block.end + (block.end < len(lines) and not lines[block.end].strip())
        part = _block(lines, following, is_head) if following < len(lines) else None
        if part is None or len(part.rows) != len(block.rows):
            break
        heads = part.heads[part.has_index :]
        rows = [[*row, *cells[part.has_index :]] for row, cells in zip(block.rows, part.rows, strict=True)]
        block = block._replace(heads=[*block.heads[:-1], *heads], rows=rows, end=part.end)
    return _without_index(block) if block and _is_table(block, is_head) else None


def _block(lines: Sequence[str], index: int, is_head: IsHead) -> _AlignedBlock | None:
    """Return heads and the rows below them that fit; None without a row."""
    if block := _counted_block(lines, index):
        return block
    grouped_heads = [cell.name for cell in _grouped_heads(lines, index)]
    heads, end = grouped_heads or _cells(lines[index]), index + 1 + bool(grouped_heads)
    heads = _with_metric_above(heads, lines[index - 1] if index else "", is_head)
    if len(heads) < MIN_CELLS - 1 or (any(map(NUMBER.fullmatch, heads)) and not _are_statistics(heads)):
        return None
    has_rule = end < len(lines) and any(rule.fullmatch(lines[end][:MAX_CHARS]) for rule in (RULE, WHOLE_RULE))
    is_continued = heads[-1] == CONTINUED
    width, end = len(heads) - is_continued, end + has_rule
    index_names = [] if has_rule else _index_names(lines, end, width)
    end += bool(index_names)
    is_parted = end + 1 < len(lines) and not lines[end].strip()  # by a blank line, as the rows are then too
    first_row = end + is_parted
    first_cells = _without_remark(_cells(lines[first_row])) if first_row < len(lines) else []
    has_index = bool(index_names) or (not has_rule and len(first_cells) == width + 1)
    heads = [*(index_names or ([""] if has_index else [])), *heads]
    heads = heads if has_index or has_rule else _with_unit_of_first(heads, is_head)
    full_width = len(heads) - is_continued
    has_names = has_rule or is_continued or any(map(is_head, heads)) or _are_statistics(heads)
    is_possible = full_width >= MIN_CELLS - is_continued and has_names
    if not is_possible:
        return None  # before any row is read: rows of no table are asked for at every line
    starts = [match.start() for match in DASHES.finditer(lines[end - 1])] if has_rule else []
    starts = starts if len(starts) == width else []
    first = end
    rows: list[list[str]] = []
    row_lines: list[int] = []
    while end < len(lines):
        may_be_parted = has_rule or is_parted  # pandoc parts rows by empty lines
        at = end + (may_be_parted and not lines[end].strip() and end + 1 < len(lines))
        row = _row_below_rule(lines[at], starts) if starts else _row(lines[at], full_width, len(index_names))
        if rows and at == end and row and not any(row[1:]) and not any(map(str.isdigit, row[0])):
            rows[-1][0] = f"{rows[-1][0]} {row[0]}"  # the name of a row in two lines
            end = at + 1
            continue
        if not row or not _fits(heads, row, is_head):
            break
        rows.append(row)
        row_lines.append(at + 1)
        end = at + 1
    names = _cells(lines[index - 1]) if index and not grouped_heads else []
    named_heads = with_units_below(names, heads) if len(names) == len(heads) else None
    names_above = 1 if named_heads else 0
    return (
        _AlignedBlock(named_heads or heads, rows, first, end, has_rule, has_index, row_lines, names_above)
        if rows else None
    )  # fmt: skip


def _with_metric_above(heads: list[str], line_above: str, is_head: IsHead) -> list[str]:
    """Return heads that are the levels of a load, 'request rate' and numbers, with the metric of the line above."""
    is_of_load = any(pattern.fullmatch(plain(heads[0])) for pattern in (*LEVEL_HEADS, RATE_HEAD))
    if not is_of_load or len(heads) < MIN_CELLS or not all(map(NUMBER.fullmatch, heads[1:])):
        return heads
    metric = line_above.strip()
    is_metric = len(metric) <= MAX_CHARS and is_head(metric)
    return ["", *(f"{heads[0]} {level}: {metric}" for level in heads[1:])] if is_metric else heads


def _with_unit_of_first(heads: list[str], is_head: IsHead) -> list[str]:
    """Return heads that are levels, such as 'batch=4', with the unit that only the head of their rows states."""
    first, levels = heads[0], heads[1:]
    is_of_levels = is_head(first) and all(any(map(str.isdigit, level)) and not is_head(level) for level in levels)
    return ["", *(f"{level}: {first}" for level in levels)] if is_of_levels else heads


def _counted_block(lines: Sequence[str], index: int) -> _AlignedBlock | None:
    """Return a DataFrame whose rows are counted from 0: each column ends where its head ends, and may have blanks."""
    grouped_heads = _grouped_heads(lines, index)
    first = index + 1 + bool(grouped_heads)
    head = lines[index].rstrip()
    is_continued = head.endswith(CONTINUED)
    head = head.removesuffix(CONTINUED).rstrip()
    if not head[:1].isspace() or len(head) > MAX_CHARS or "|" in head:
        return None
    rows: list[str] = []
    number = 0
    for at in range(first, len(lines)):  # a slice would be copied at every line
        line = lines[at]
        following = ROW_NUMBER.match(line) if rows and rows[-1].startswith(LEFT_OUT) else None
        number = max(number, int(following[0])) if following else number
        if len(line) > MAX_CHARS or not (line.startswith(f"{number} ") or (rows and line.startswith(f"{LEFT_OUT} "))):
            break
        number += not line.startswith(LEFT_OUT)
        rows.append(f"{line.rstrip()} ")
    columns = grouped_heads or [_Head(match[0], match.end()) for match in WORD.finditer(head)]
    ends = [end for _, end in columns if all(len(row) > end and row[end] == " " != row[end - 1] for row in rows)]
    if not rows or ends[-1:] != [columns[-1].end] or any(row[ends[-1] :].strip() for row in rows):
        return None
    starts = [0, *ends]
    cells = [[row[start:end].strip() for start, end in zip(starts, ends, strict=False)] for row in rows]
    cells = [[*row[0].split(maxsplit=1), *row[1:]] for row in cells]
    names = [head[start:end].strip() for start, end in zip(starts, ends, strict=False)]
    names = [column.name for column in columns] if grouped_heads else names
    heads = ["", *names]
    if any(len(row) != len(heads) or any(map(GAP.search, row)) for row in cells):
        return None
    heads += [CONTINUED] if is_continued else []
    return _AlignedBlock(heads, cells, first, first + len(rows), has_index=True)


def _grouped_heads(lines: Sequence[str], index: int) -> list[_Head]:
    """Return the heads of a DataFrame that stand in two lines, 'ttft_ms' above 'mean' and 'p99'; empty for others.

    The name of a group ends where its first column ends; a column of a single name has it in the upper line.
    """
    upper, lower = (lines[at].rstrip() if at < len(lines) else "" for at in (index, index + 1))
    if not lower[:1].isspace() or max(len(upper), len(lower)) > MAX_CHARS or "|" in upper + lower or not upper.strip():
        return []
    groups, names = ({match.end(): match[0] for match in WORD.finditer(line)} for line in (upper, lower))
    shared_ends = groups.keys() & names.keys()
    has_numbers = any(map(NUMBER.fullmatch, (*groups.values(), *names.values())))
    if has_numbers or not shared_ends or len(names) <= len(shared_ends) or max(groups) >= max(names):
        return []
    heads, group = [], ""
    for end in sorted(groups.keys() | names.keys()):
        group, name = groups.get(end, group), names.get(end, "")
        if name and not group:
            return []
        mark = "_" if VARIABLE.fullmatch(group) else " "  # 'tok_s_mean' states its unit as 'tok_s' does
        heads.append(_Head(f"{group}{mark}{name}" if name else group, end))
    return heads


def _index_names(lines: Sequence[str], at: int, width: int) -> list[str]:
    """Return the names of a DataFrame's index, which stand alone below the heads; empty without any."""
    if at + 1 >= len(lines):
        return []
    names = re.split(r" {1,80}", lines[at].strip()[:MAX_CHARS])
    is_index = 0 < len(names) <= MOST_INDEX_NAMES and all(name and name[0].isalpha() for name in names)
    return names if is_index and len(_cells(lines[at + 1])) == width + len(names) else []


def _row(line: str, width: int, index_width: int) -> list[str]:
    """Return the cells of a row, empty for any other line; of several indexes the outer ones are written once."""
    cells = _cells(line)
    cells = _without_remark(cells) if len(cells) == width + 1 else cells
    if 0 < width - len(cells) < index_width and line[:1].isspace():
        return [*[""] * (width - len(cells)), *cells]
    return cells if len(cells) == width else []


def _row_below_rule(line: str, starts: Sequence[int]) -> list[str]:
    """Return the cells that stand below the dashes of a rule, or between wide gaps if a cell crosses a bound."""
    is_aligned = all(line[start - 1 : start].isspace() for start in starts[1:] if start <= len(line))
    if not is_aligned or "|" in line or "\t" in line or len(line) > MAX_CHARS:
        return _row(line, len(starts), 0)
    cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], len(line)], strict=True)]
    return cells if any(cells) and not line[: starts[0]].strip() else _row(line, len(starts), 0)


def _without_remark(cells: list[str]) -> list[str]:
    return cells[:-1] if REMARK.fullmatch(cells[-1]) else cells


def _fits(heads: Sequence[str], row: Sequence[str], is_head: IsHead) -> bool:
    """Return whether a row has a number or no value in each column of figures; pairs such as 'ttft=86ms' are none."""
    if any("=" in head and "=" in cell for head, cell in zip(heads, row, strict=False)):
        return False
    of_units = [cell for head, cell in zip(heads, row, strict=False) if is_head(head)]
    cells = of_units or row[1:]
    return all(DIGIT.search(cell) or (of_units and _is_blank(cell)) for cell in cells)


def _is_blank(cell: str) -> bool:
    return has_no_value(cell) or states_failure(cell)


def _is_table(block: _AlignedBlock, is_head: IsHead) -> bool:
    """Return whether the heads state units: two, or one of a certain table; above a rule the first row may."""
    count, width = sum(map(is_head, block.heads)), len(block.heads)
    if width < MIN_CELLS:
        return False
    if _are_statistics(block.heads):
        return any(is_head(row[0]) for row in block.rows)
    is_certain = block.has_rule or block.has_index or len(block.rows) > 1
    has_figures = any((value := read_cell(cell)) and value.unit for cell in block.rows[0][1:])
    return count > 1 or (count > 0 and is_certain) or (block.has_rule and (is_head(block.rows[0][0]) or has_figures))


def _are_statistics(heads: Sequence[str]) -> bool:
    """Return whether heads are the statistics that pandas' `describe` prints, of measurements that are the rows."""
    return {"mean", "50%"} <= {head.lower() for head in heads}


def _without_index(block: _AlignedBlock) -> _AlignedBlock:
    """Return a DataFrame without the column that only counts its rows."""
    numbers = [row[0] for row in block.rows if row[0] != LEFT_OUT]
    is_whole = len(numbers) == len(block.rows)
    is_counted = block.has_index and all(
        number == str(at) or (not is_whole and number.isdecimal()) for at, number in enumerate(numbers)
    )
    if not is_counted or block.heads[0]:
        return block
    return block._replace(heads=block.heads[1:], rows=[row[1:] for row in block.rows])


def _block_of_figures(lines: Sequence[str], index: int, is_head: IsHead) -> _AlignedBlock | None:
    """Return the table whose heads state no units, and whose rows have their own: 'Prefill' above '820 t/s'.

    One of two columns has heads that are names alone, or states its unit.
    """
    heads = _cells(lines[index])
    is_name = all(NAME.fullmatch(head) or is_head(head) for head in heads)
    if len(heads) < MIN_CELLS - 1 or not is_name or any(map(_has_figure, heads)):
        return None
    has_unit = [is_head(head) for head in heads]
    first_row = _row(lines[index + 1], len(heads), 0) if index + 1 < len(lines) else []
    columns = [at for at, cell in enumerate(first_row) if _is_value(cell, has_unit[at])]
    if not columns or columns[0] == 0 or has_unit[0]:
        return None
    rows: list[list[str]] = []
    end = index + 1
    while end < len(lines) and (row := _row(lines[end], len(heads), 0)):
        are_values = all(_is_value(row[at], has_unit[at]) or _is_blank(row[at]) for at in columns)
        if not are_values or _is_value(row[0], True):
            break
        rows.append(row)
        end += 1
    return _AlignedBlock(heads, rows, index + 1, end) if len(rows) > 1 else None


def _is_value(cell: str, has_unit: bool) -> bool:
    """Return whether a cell is a figure, or a number below a head with its unit."""
    return _has_figure(cell) or (has_unit and NUMBER.fullmatch(cell) is not None)


def _has_figure(cell: str) -> bool:
    value = read_cell(cell)
    return value is not None and value.unit in TIMED


def _separated_block(lines: Sequence[str], index: int, is_head: IsHead) -> _AlignedBlock | None:
    """Return the table of comma-separated values whose heads are a line; None if there is none."""
    line = lines[index]
    separator = next((mark for mark in "|,;" if line.count(mark) >= MIN_CELLS - 1), None)
    if separator is None or len(line) > 4 * MAX_CHARS:
        return None
    heads = _separated_cells(line, separator)
    units = sum(map(is_head, heads))
    if not all(map(NAME.fullmatch, heads)) or units < (1 if separator == "|" else 2):
        return None
    first = index + 1
    has_rule = first < len(lines) and WHOLE_RULE.fullmatch(lines[first][:MAX_CHARS]) is not None
    first += has_rule
    rows: list[list[str]] = []
    for row_line in (lines[at] for at in range(first, len(lines))):  # a slice would be copied at every line
        cells = _separated_cells(row_line, separator) if separator in row_line else []
        is_row = len(cells) == len(heads) and all(
            NUMBER.fullmatch(cell) or _is_blank(cell)
            for head, cell in zip(heads, cells, strict=True) if is_head(head)
        )  # fmt: skip
        if not is_row:
            break
        rows.append(cells)
    return _AlignedBlock(heads, rows, first, first + len(rows)) if len(rows) > (units == 1) else None


def _separated_cells(line: str, separator: str) -> list[str]:
    if separator == "|":
        return cells_of(line)
    cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
    return [cell.strip() for cell in cells]


def _cells(line: str) -> list[str]:
    return GAP.split(line.strip()[:MAX_CHARS]) if "|" not in line else [""]
