"""Reads the lines 'Name (unit): value' that benchmark tools print, within limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from domain import JsonValue

MAX_CHARS = 4_000_000
MAX_LINE_CHARS = 1_000
MAX_LABEL_CHARS = 120
UNITS = (
    "ms", "s", "sec", "seconds", "ns", "%", "req/s", "req/sec", "tok/s", "tokens/s", "tokens/sec", "tokens/sec/user",
    "tokens/sec/gpu", "tokens/second",
    "tps", "tps/user", "tps/gpu", "tokens", "RPS", "MiB", "GiB", "W", "J",
)  # fmt: skip
LABEL = re.compile(
    rf"(?P<name>.{{1,110}}?)(?: \((?P<unit>{'|'.join(map(re.escape, UNITS))})\)"
    r"(?: (?P<statistic>avg|mean|median|min|max|p\d{1,2}(?:\.\d{1,3})?))?)?"
)
NUMBER = re.compile(r"[-+]?\d{1,18}(?:\.\d{1,15})?(?:[eE][-+]?\d{1,3})?")
BULLET = re.compile(r"\s{0,12}[-*•] {1,4}")
SERVERS_LINE = re.compile(  # of a server's log, in whose terminal a load tester printed too
    r"\s{0,4}(?:\(\w{1,40} pid=\d{1,9}\) )?(?:(?:INFO|WARNING|ERROR|DEBUG)(?::\s|\s{1,4}\d\d-\d\d )"
    r"|\[20\d\d-\d\d-\d\d[ T]\d\d:\d\d|(?:srv|slot|que) {1,12}\w{1,40}: )"
)
MARKDOWN = "*` \t"
THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d{1,15})?")
MARK = re.compile(r"(?<=\d)[ \t]+(?:<[-=]|[←⬅⇐↑↓⬆⬇▲▼✅🔥#*]|\([-+]\d).{0,200}")  # of the person who pasted the line


class PrintedLine(NamedTuple):
    """A line of a summary: its number, its name in lower case, its label as printed, its unit and its value."""

    line: int
    name: str
    label: str
    unit: str | None
    value: Any  # a number if it is written as one


def printed_text(source: ResultFile) -> str:
    """Return the text of a summary; raises ImportRefusedError if it is too long."""
    content = source.text()
    if len(content) > MAX_CHARS:
        raise ImportRefusedError(f"{source.name} is longer than the limit of {MAX_CHARS:,} characters for summaries.")
    return content


def printed_line(number: int, line: str) -> PrintedLine | None:
    """Return the parts of a line, without marks of Markdown; None for a line of another form."""
    before, colon, after = BULLET.sub("", line[:MAX_LINE_CHARS], count=1).partition(":")
    label, value = before.strip().strip(MARKDOWN), MARK.sub("", after.strip().strip(MARKDOWN))
    value = value.replace(",", "") if THOUSANDS.fullmatch(value) else value
    match = LABEL.fullmatch(label) if colon and len(label) <= MAX_LABEL_CHARS else None
    if match is None:
        return None
    name = match["name"].strip().lower()
    if match["statistic"]:  # 'Latency (ms) avg' is 'Mean Latency (ms)'
        name = f"{match['statistic'].replace('avg', 'mean')} {name}"
    return PrintedLine(number, name, label, match["unit"], number_or_text(value or None))


def printed_lines(lines: Iterable[tuple[int, str]]) -> Iterator[PrintedLine]:
    """Yield the lines of the form 'Name (unit): value'."""
    for number, line in lines:
        parts = None if SERVERS_LINE.match(line) else printed_line(number, line)
        if parts is not None:
            yield parts


def number_or_text(cell: str | None) -> JsonValue:
    """Return the number that a text is, whole if it is written so; else the text."""
    if cell is None or not NUMBER.fullmatch(cell):
        return cell
    return int(cell) if cell.isdigit() else float(cell)


def add_unknown(load: LoadBuilder, point: MeasurementPoint, line: PrintedLine) -> None:
    """Add a line without a Pitwall name: a number with a unit as stated, anything else as a setting."""
    if line.unit and isinstance(line.value, int | float):
        named_point = point._replace(name=f"{point.name}: {line.label} (line {line.line})")
        load.result(named_point, STATED, STATED, line.value, unit=line.unit)
    elif line.value is not None:
        is_repeated = load.params.get(line.label, line.value) != line.value
        load.params[f"{line.label} (line {line.line})" if is_repeated else line.label] = line.value
