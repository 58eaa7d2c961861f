"""Reads the table that AIPerf and GenAI-Perf print: one load per table. Their deviations divide by n."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.tools import aiperf
from collectors.imports.results.tools.printed_block import (
    BenchmarkCommand,
    PrintedBlock,
    command_among,
    model_of,
    read_blocks,
)
from collectors.imports.results.values import count

PROGRAM = re.compile(r"\b(?:aiperf|genai-perf|perf_analyzer)(?: profile\b|(?= {1,8}-))")
BAR = re.compile(r"[│┃]")
TOP, BOTTOM = "┏", "└"
FIRST_HEADS = ("metric", "statistic")
NUMBER = re.compile(r"-?\d{1,3}(?:,\d{3})*(?:\.\d{1,9})?|-?\d{1,15}(?:\.\d{1,9})?")
ARROW = re.compile(r"[-=]{1,4}> {0,4}")  # of the person who pasted the table, before a number
NO_VALUE = ("", "N/A", "-")
PER_REQUEST = ("request_latency", "time_to_first_token", "output_sequence_length", "input_sequence_length")
DURATION = re.compile(r"\s{0,12}Benchmark Duration: (?P<seconds>\d{1,9}(?:\.\d{1,9})?) sec\s*")
BELOW = re.compile(  # a speed that GenAI-Perf printed below its table once
    r"\s{0,12}(?P<name>(?:Output token|Request) (?:throughput|goodput)) \(per sec\): "
    r"(?P<speed>\d{1,12}(?:\.\d{1,9})?)\s*"
)
COMMAND_LINE = re.compile(r"\s{0,12}CLI Command: ")
MAX_LINES_BELOW = 24
MOST_EMPTY_LINES = 3
CUT_OFF = "…"
MAX_TABLE_LINES = 400
LEAST_ROWS, LEAST_CELLS = 2, 7  # of a table whose head was lost; each has a label and at least six statistics
ROW_STARTS = ("│", "┃")
NO_HEAD_NOTE = "The head of the table is missing: only its first column was read, which has the means and the totals."


class Row(NamedTuple):
    """A row of the table: its label without the unit, its unit, and its cells by the heads of their columns."""

    name: str
    unit: str | None
    cells: Mapping[str, str]


def has_printed(content: str) -> bool:
    """Return whether a text contains such a table."""
    return BAR.search(content) is not None and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each table of a text, and the text with the tables and what stands below them left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the tables, with AIPerf's command and the duration below them.

    Tables of one run stand close together under different titles.
    """
    index = 0
    while index < len(lines):
        end = _table_end(lines, index)
        if end == index and (headless_end := _end_of_headless(lines, index)) > index:
            yield index, headless_end
            index = headless_end
            continue
        if end > index:
            titles = {lines[index - 1].strip() if index else ""}
            while (title := _title_below(lines, end)) is not None and _is_of_run(lines[title].strip(), titles):
                titles.add(lines[title].strip())
                end = _table_end(lines, title + 1)
            while end < len(lines) and BELOW.fullmatch(lines[end][:120]):
                end += 1
            end = _end_below(lines, end)
            yield index, end
        index = max(end, index + 1)


def _title_below(lines: Sequence[str], end: int) -> int | None:
    """Return the line of the title of the next table, behind at most a few empty lines."""
    below = range(end, min(len(lines) - 1, end + MOST_EMPTY_LINES + 1))
    title = next((index for index in below if lines[index].strip()), end)
    return title if title in below and _table_end(lines, title + 1) > title + 1 else None


def _is_of_run(title: str, titles: set[str]) -> bool:
    """Return whether a table belongs to the run of those above: another title, but not that of another tool."""
    runs = {above.partition(":")[0] for above in titles}
    return title not in titles and (" | " not in title or title.partition(":")[0] in runs)


def _table_end(lines: Sequence[str], start: int) -> int:
    """Return the index behind the table that begins with this line; `start` itself if there is none."""
    head = _head_line(lines, start)
    if head is None:
        return start
    rows = range(head + 1, min(len(lines), start + MAX_TABLE_LINES))
    edge = next((index for index in rows if lines[index].lstrip().startswith((BOTTOM, TOP))), None)
    if edge is not None:
        return start if lines[edge].lstrip().startswith(TOP) else edge + 1
    end = next((index for index in rows if not lines[index].strip()), rows.stop)  # the lower edge was cut off
    return end if any(BAR.search(line) for line in lines[head + 1 : end]) else start


def _end_of_headless(lines: Sequence[str], start: int) -> int:
    """Return the index behind rows of the table whose head was lost; `start` itself if there are none.

    Known metrics with their unit are among them, and all numbers are in the order of a mean, a minimum, a maximum.
    """
    is_first = start == 0 or lines[start - 1].lstrip()[:1] not in ROW_STARTS
    end = start
    while is_first and end < len(lines) and lines[end].lstrip()[:1] in ROW_STARTS:
        end += 1
    rows = [_cells(line) for line in lines[start:end]]
    is_table = all(len(cells) >= LEAST_CELLS and _is_of_statistics(cells[1:]) for cells in rows)
    return end if is_table and sum(map(_names_metric, rows)) >= LEAST_ROWS else start


def _is_of_statistics(cells: Sequence[str]) -> bool:
    values = [_number(cell) for cell in cells if cell not in NO_VALUE]
    numbers = [value for value in values if isinstance(value, float)]
    is_whole = len(numbers) == len(values) and cells[0] not in NO_VALUE
    return is_whole and (len(numbers) < 3 or numbers[1] <= numbers[0] <= numbers[2])


def _names_metric(cells: Sequence[str]) -> bool:
    match = aiperf.TITLE.fullmatch(cells[0])
    return match is not None and bool(match["unit"]) and aiperf.name_of(match["name"]) in aiperf.METRICS


def _head_line(lines: Sequence[str], start: int) -> int | None:
    """Return the line of the heads of a table that begins here, with its upper edge or, if that was lost, without."""
    head = start + lines[start].lstrip().startswith(TOP)
    heads = [cell.lower() for cell in _cells(lines[head])] if head < len(lines) else []
    return head if len(heads) > 1 and heads[0] in FIRST_HEADS and "avg" in heads else None


def _end_below(lines: Sequence[str], end: int) -> int:
    """Return the index behind the duration below a table, if AIPerf's command stands there too."""
    below = range(end, min(len(lines), end + MAX_LINES_BELOW))
    start = next((index for index in below if COMMAND_LINE.match(lines[index])), None)
    if start is None or any(lines[index].lstrip().startswith(TOP) for index in range(end, start)):
        return end
    return next((index + 1 for index in below if index > start and DURATION.fullmatch(lines[index][:100])), end)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in BAR.split(line.strip())[1:-1]]


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    tops = [index for index, line in enumerate(block.lines) if line.lstrip().startswith(TOP)]
    tops = tops if tops[:1] == [0] else [0, *tops]  # the upper edge of the first was lost
    rows = [row for start, end in zip(tops, [*tops[1:], None], strict=True) for row in _rows(block.lines[start:end])]
    below = [index for index, line in enumerate(block.lines) if COMMAND_LINE.match(line)]
    command = _command_below(block.lines[below[0] :]) if below else block.command
    has_head = _head_line(block.lines, 0) is not None
    is_aiperf = not has_head or _cells(block.lines[_head_line(block.lines, 0) or 0])[0] == "Metric"
    tool = aiperf.TOOL if is_aiperf else aiperf.GENAI_PERF
    load = LoadBuilder(
        ticket, tool, None, tool, ticket.file_date, number=number,
        model=model_of(command), planned_requests=count(command.values(["request_count"]).get("request_count")),
    )  # fmt: skip
    load.notes += [] if has_head else [NO_HEAD_NOTE]
    levels = command.values(["concurrency", "concurrency_range"]).values()  # perf_analyzer's is that of GenAI-Perf
    concurrency = next((level for value in levels if (level := count(value)) is not None), None)
    point = MeasurementPoint(f"{concurrency} at once" if concurrency else "all requests", concurrency)
    totals = [_number(row.cells["avg"]) for row in rows if aiperf.name_of(row.name) == "request_count"]
    n = count(totals[0]) if totals else None
    names: set[str] = set()
    for row in rows:
        if row.name not in names:  # several tables may show it
            _add_row(load, point, row, n)
        names.add(row.name)
    for below_table in filter(None, (BELOW.fullmatch(line[:120]) for line in block.lines)):
        speed_name, values = below_table["name"], {"avg": float(below_table["speed"])}
        aiperf.add_metric(load, point, aiperf.name_of(speed_name), values, "per sec", None, speed_name)
    duration = next((match for line in block.lines if (match := DURATION.fullmatch(line[:100]))), None)
    if duration:
        load.result(point, "duration_s", "total", float(duration["seconds"]))
    return load


def _command_below(lines: Sequence[str]) -> BenchmarkCommand:
    """Return the command that AIPerf prints, whose lines are wrapped at the width of the terminal."""
    end = next((index for index, line in enumerate(lines) if DURATION.fullmatch(line[:100])), len(lines))
    joined_line = " ".join(line.strip() for line in lines[:end])
    return command_among([joined_line], PROGRAM) or BenchmarkCommand("", "", {})


def _rows(lines: Sequence[str]) -> Iterator[Row]:
    """Yield the rows; a label may go on in the lines below, whose other cells are empty."""
    head = _head_line(lines, 0)
    if head is None:
        yield from (_row(cells[0], ["", "avg"], cells[:2]) for cells in map(_cells, lines))
        return
    heads = _cells(lines[head])
    label, values = "", [""] * len(heads)
    for line in lines[head + 1 :]:
        cells = _cells(line)
        if len(cells) != len(heads):
            continue
        if any(cells[1:]):
            if label:
                yield _row(label, heads, values)
            label, values = cells[0], cells
        else:
            label = f"{label} {cells[0]}".strip()
    if label:
        yield _row(label, heads, values)


def _row(label: str, heads: Sequence[str], cells: Sequence[str]) -> Row:
    if CUT_OFF in label and (whole_name := _whole_name(label)):
        return Row(whole_name, "ms", dict(zip(heads, cells, strict=True)))
    match = aiperf.TITLE.fullmatch(label)
    name, unit = (match["name"], match["unit"]) if match else (label, None)
    return Row(name, unit, dict(zip(heads, cells, strict=True)))


def _whole_name(label: str) -> str | None:
    """Return the only known name of a label that the terminal cut off."""
    parts = [re.escape(part.lower().replace(" ", "_")) for part in label.partition("(")[0].rstrip().split(CUT_OFF)]
    pattern = re.compile(".{0,40}".join(parts))
    names = [name for name in aiperf.METRICS if pattern.fullmatch(name)]
    return names[0] if len(names) == 1 else None


def _number(cell: str) -> Any:
    """Return the number of a cell; any other text as it is."""
    cell = ARROW.sub("", cell, count=1) if ARROW.match(cell) else cell
    return float(cell.replace(",", "")) if NUMBER.fullmatch(cell) else cell


def _add_row(load: LoadBuilder, point: MeasurementPoint, row: Row, n: int | None) -> None:
    name = aiperf.name_of(row.name)
    values = {head: _number(cell) for head, cell in row.cells.items() if cell not in NO_VALUE}
    aiperf.add_metric(load, point, name, values, row.unit, n if name in PER_REQUEST else None, row.name)
