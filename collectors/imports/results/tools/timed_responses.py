"""Reads an OpenAI response that was pasted with the time its command took: of the shell's `time`, or of curl's `-w`.

The response has the lengths, the shell the time of the whole answer; no speed is computed of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed_block import without_blocks
from collectors.imports.results.values import converted

TOOL = "timed response"
LENGTHS = {
    name: re.compile(rf'"{name}"\s{{0,4}}:\s{{0,4}}(?P<count>\d{{1,9}})\b')
    for name in ("prompt_tokens", "completion_tokens")
}
MODEL = re.compile(r'"model"\s{0,4}:\s{0,4}"(?P<model>[^"]{1,200})"')
TIMES = (  # of the whole command, in minutes and seconds
    re.compile(r"\s{0,4}real\s{1,8}(?:(?P<minutes>\d{1,4})m)?(?P<seconds>\d{1,6}[.,]\d{1,9})s?\s*"),
    re.compile(
        r".{0,400}\bsystem {1,4}\d{1,4}% cpu {1,4}(?:(?P<minutes>\d{1,4}):)?(?P<seconds>\d{1,6}\.\d{1,9}) total\s*"
    ),
    re.compile(
        r"\s{0,12}(?:time_)?total(?:[ _]time)?: {0,12}(?P<minutes>)(?P<seconds>\d{1,6}\.\d{1,9})s?\s*", re.IGNORECASE
    ),
)
FIRST_BYTE = re.compile(
    r"\s{0,12}(?:time_starttransfer|starttransfer|ttfb|start transfer): {0,12}(?P<seconds>\d{1,6}\.\d{1,9})s?\s*",
    re.IGNORECASE,
)
MAX_LINES_BETWEEN = 40
MAX_LINE_CHARS, MAX_TIME_CHARS = 100_000, 500
NOTE = "The time is that of the whole command, its start and the connection included."


class TimedResponse(NamedTuple):
    """A response's lengths and model, the lines with its times, and its times in seconds."""

    lengths: tuple[int, int]
    model: str | None
    lines: tuple[int, ...]  # from 0
    total_s: float
    first_byte_s: float | None


def has_printed(content: str) -> bool:
    """Return whether a text contains such a response and its time."""
    return '"completion_tokens"' in content and any(True for _ in _responses(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return the load of all such responses, and the text with the lines of their times left empty."""
    lines = content.splitlines()
    responses = list(_responses(lines)) if '"completion_tokens"' in content else []
    if not responses:
        return [], content
    models = {response.model for response in responses}
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, ticket.file_date, number=first_number, notes=[NOTE],
        model=models.pop() if len(models) == 1 else None, line=responses[0].lines[0] + 1,
    )  # fmt: skip
    for number, response in enumerate(responses, 1):
        name = "one answer" if len(responses) == 1 else f"answer {number}"
        point = MeasurementPoint(name, None, *response.lengths)
        load.result(point, "e2e_ms", STATED, converted(response.total_s, 1e3))
        if response.first_byte_s is not None:
            load.result(point, "ttfr_ms", STATED, converted(response.first_byte_s, 1e3))
    time_lines = (index for response in responses for index in response.lines)
    return [load], without_blocks(lines, ((index, index + 1) for index in time_lines))


def _responses(lines: Sequence[str]) -> Iterator[TimedResponse]:
    """Yield the responses that state both lengths and have a time below them, before the next response."""
    counts: dict[str, int] = {}
    model, first_byte, last = None, None, 0
    for index, line in enumerate(lines):
        matches = {name: match for name, pattern in LENGTHS.items() if (match := pattern.search(line[:MAX_LINE_CHARS]))}
        if matches:
            counts |= {name: int(match["count"]) for name, match in matches.items()}
            last, first_byte = index, None
        if '"model"' in line and (match := MODEL.search(line[:MAX_LINE_CHARS])):
            model = match["model"]
        if not (len(counts) == len(LENGTHS) and index - last <= MAX_LINES_BETWEEN and len(line) <= MAX_TIME_CHARS):
            continue
        if match := FIRST_BYTE.fullmatch(line):
            first_byte = index, float(match["seconds"])
        elif match := next(filter(None, (pattern.fullmatch(line) for pattern in TIMES)), None):
            seconds = float(match["seconds"].replace(",", ".")) + 60 * int(match["minutes"] or 0)
            time_lines = (index, *(first_byte[:1] if first_byte else ()))
            lengths = counts["prompt_tokens"], counts["completion_tokens"]
            yield TimedResponse(lengths, model, time_lines, seconds, first_byte[1] if first_byte else None)
            counts, model, first_byte = {}, None, None
