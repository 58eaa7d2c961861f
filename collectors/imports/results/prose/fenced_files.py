"""Reads the files that a text quotes between fences: those of tools, and the JSON of scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose import records
from collectors.imports.results.prose.record_lines import with_bare_records
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tool_readers import READERS, ResultReader
from collectors.imports.results.tools.printed_block import heading_params
from domain import JsonValue

FENCE = re.compile(r"\s{0,12}(?P<marks>`{3,8}|~{3,8})\s{0,4}[\w.+-]{0,20}\s{0,8}")
MAX_HEAD_CHARS = 64 << 10
LEAST_COMMAS = 2
ENDS_OF_SENTENCE = (".", "?", "!", ":")
LEAST_COMMAS_OF_HEAD = 4  # without fences
MOST_OBJECTS, MOST_LINES_OF_OBJECT = 40, 400  # without fences
JSON_STARTS = ("{", "[")
OBJECT_START = re.compile(r'\{"|[{\[]\s{0,9}$')


def has_fenced_file(text: str, least: int = 1) -> bool:
    """Return whether a text quotes as many files that are read."""
    lines = with_bare_records(text.splitlines())
    quoted_files = (start for start, end in _passages(lines) if _reader_of(lines[start:end]))
    return next(islice(quoted_files, least - 1, None), None) is not None


def read_fenced_files(
    source: ResultFile, text: str, ticket: Ticket, first_number: int
) -> tuple[list[LoadBuilder], str]:
    """Return the loads of such files, and the text with their lines left empty; what is refused is read as a text."""
    lines = text.splitlines()
    bare_lines = with_bare_records(lines)
    loads: list[LoadBuilder] = []
    end_above = 0
    for start, end in list(_passages(bare_lines)):
        reader = _reader_of(bare_lines[start:end])
        if reader is None:
            continue
        own_ticket = ticket._replace(token=f"{ticket.token}-{first_number + len(loads)}")
        try:
            loads_of_file = reader.read(source.passage("\n".join([*bare_lines[start:end], ""])), own_ticket)
        except ImportRefusedError:
            continue
        for load in loads_of_file:
            load.params |= {} if start and FENCE.fullmatch(lines[start - 1]) else _labels_above(lines, start)
            load.params |= heading_params(lines, start - 1, end_above)
            load.line = start + 1
        loads += loads_of_file
        lines[start:end] = [""] * (end - start)
        end_above = end
    return loads, "\n".join(lines)


def _labels_above(lines: Sequence[str], start: int) -> dict[str, JsonValue]:
    """Return the headings that lines without a fence stand under."""
    labels = Sections("\n".join(lines[: start + 1])).labels_of(start + 1)
    return {"heading": " / ".join(labels)} if labels else {}


def _passages(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where the lines between two fences begin and end, if they may be JSON or CSV, and those without fences."""
    start: int | None = None
    attempts, heads, end = 0, 0, 0
    for index, line in enumerate(lines):
        if start is None and index >= end and OBJECT_START.match(line) and attempts < MOST_OBJECTS:
            attempts += 1
            if count := _lines_of_objects(lines, index):
                end = index + count
                yield index, end
            continue
        if start is None and index >= end and line.count(",") >= LEAST_COMMAS_OF_HEAD and heads < MOST_OBJECTS:
            heads += 1
            if line[0].isalpha() and _reader_of([line, ""]):
                end = index + _lines_of_csv(lines, index)
                yield index, end
            continue
        if not (line.lstrip()[:3] in ("```", "~~~") and FENCE.fullmatch(line)):
            continue
        if start is None:
            start = index + 1
            continue
        first_line = lines[start].lstrip() if start < index else ""
        if first_line.startswith(JSON_STARTS) or first_line.count(",") >= LEAST_COMMAS:
            yield start, index
        start = None


def _lines_of_csv(lines: Sequence[str], first: int) -> int:
    """Return how many lines a CSV takes up that begins there; a blank line may part its tables."""
    end = first + 1
    while end < len(lines):
        next_line = lines[end] if lines[end].strip() else "".join(lines[end + 1 : end + 2])
        if "," not in next_line or next_line.rstrip().endswith(ENDS_OF_SENTENCE):
            break
        end += 1
    return end - first


def _lines_of_objects(lines: Sequence[str], first: int) -> int:
    """Return how many lines a JSON object takes up, with those behind it that are one each."""
    count = _lines_of_object(lines[first : first + MOST_LINES_OF_OBJECT])
    while count and lines[first].endswith("}") and first + count < len(lines):
        line = lines[first + count]
        if not line.startswith('{"') or not line.endswith("}") or not _lines_of_object([line]):
            break
        count += 1
    return count


def _lines_of_object(lines: Sequence[str]) -> int:
    """Return how many of the lines a JSON object takes up that begins with them; 0 if they are none."""
    text = "\n".join(lines)[:MAX_HEAD_CHARS]
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return 0
    is_alone = not text[end:].partition("\n")[0].strip()
    return text.count("\n", 0, end) + 1 if is_alone else 0


def _reader_of(lines: Sequence[str]) -> ResultReader | None:
    head = "\n".join(lines)[:MAX_HEAD_CHARS]
    reader = next((reader for reader in READERS if reader.recognise(head)), None)
    is_json = head.lstrip().startswith(JSON_STARTS)  # a script's CSV is a table of the text
    return reader or (records if is_json and records.recognise(head) else None)
