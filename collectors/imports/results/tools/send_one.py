"""Reads what `sglang.test.send_one` prints of one prompt: a table of one row, earlier two lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed_block import PrintedBlock, model_of, read_blocks

TOOL = "sglang.test.send_one"
PROGRAM = re.compile(r"\bsend_one\b")
NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
FRAME = re.compile(r"\s{0,12}\+(?:-{3,60}\+){4}\s*")
HEADS = re.compile(r"\s{0,12}\| +Latency \(s\) +\| +Tokens +\| +Acc Length +\| +Speed \(token/s\) +\|\s*")
ROW = re.compile(
    rf"\s{{0,12}}\| {{1,20}}(?P<latency>{NUMBER}) {{1,20}}\| {{1,20}}(?P<tokens>{NUMBER}) {{1,20}}"
    rf"\| {{1,20}}(?P<length>{NUMBER}) {{1,20}}\| {{1,20}}(?P<speed>{NUMBER}) {{1,20}}\|\s*"
)
LENGTH_LINE = re.compile(rf"\s{{0,12}}acc_length=(?P<length>{NUMBER})\s*")
SPEED_LINE = re.compile(rf"\s{{0,12}}speed=(?P<speed>{NUMBER}) token/s\s*")
VALUES = (  # group -> metric, statistic, factor
    ("latency", "e2e_ms", STATED, 1e3),
    ("tokens", "completion_tokens", "total", 1.0),
    ("length", "acceptance_length", "mean", 1.0),
    ("speed", "e2e_tps", STATED, 1.0),  # the tokens of the answer over its whole latency
)
POINT = MeasurementPoint("one prompt", 1)


def has_printed(content: str) -> bool:
    """Return whether a text contains such a table or such lines."""
    return ("Acc Length" in content or "acc_length=" in content) and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each prompt of a text, and the text with its lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    for index, line in enumerate(lines):
        if HEADS.fullmatch(line[:200]):
            row = index + 1 + bool(index + 1 < len(lines) and FRAME.fullmatch(lines[index + 1][:300]))
            if row < len(lines) and ROW.fullmatch(lines[row][:300]):
                start = index - bool(index and FRAME.fullmatch(lines[index - 1][:300]))
                yield start, row + 1 + bool(row + 1 < len(lines) and FRAME.fullmatch(lines[row + 1][:300]))
        elif (
            LENGTH_LINE.fullmatch(line[:60]) and index + 1 < len(lines) and SPEED_LINE.fullmatch(lines[index + 1][:80])
        ):
            yield index, index + 2


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, model=model_of(block.command))
    patterns = (ROW, LENGTH_LINE, SPEED_LINE)
    matches = [match for line in block.lines for pattern in patterns if (match := pattern.fullmatch(line))]
    cells = {name: text for match in matches for name, text in match.groupdict().items()}
    for name, metric, statistic, factor in VALUES:
        if name in cells:
            load.result(POINT, metric, statistic, float(cells[name]), factor=factor)
    return load
