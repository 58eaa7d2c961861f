"""Reads the timings that `ollama run --verbose` prints after an answer: one load per answer.

KTransformers prints the same lines, without the total and the time of loading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.go_durations import seconds_of
from collectors.imports.results.tools.printed_block import PrintedBlock, drop_words_of_answers, read_blocks

TOOL = "ollama"
TOOL_OR_OTHER = "ollama or KTransformers"
PROGRAM = re.compile(r"\bollama run\b")
LINE = re.compile(
    r"\s{0,12}(?:[-•] )?(?P<name>(?:total|load|prompt eval|eval) duration|(?:prompt )?eval (?:count|rate)):[ \t]{0,40}"
    r"(?P<value>\S.{0,40}?)\s*"
)
MARKS = str.maketrans("", "", "*`")  # of Markdown
COUNT = re.compile(r"(?P<tokens>\d{1,12}) token\(s\)")
RATE = re.compile(r"(?P<tps>\d{1,12}(?:\.\d{1,20})?) tokens/s")
DURATIONS = {  # name -> metric and its factor from seconds
    "total duration": ("e2e_ms", 1e3),
    "load duration": ("model_load_s", 1.0),
    "prompt eval duration": ("prompt_ms", 1e3),
    "eval duration": ("decode_ms", 1e3),
}
SPEEDS = frozenset(("eval rate", "prompt eval rate"))
LEAST_LINES = 2  # a rate alone is a line of any text
COUNTS = {"prompt eval count": "prompt_tokens", "eval count": "completion_tokens"}
RATES = {"prompt eval rate": "prompt_tps", "eval rate": "decode_tps"}


def has_printed(content: str) -> bool:
    """Return whether a text contains such timings, or a part of them with a speed."""
    return "eval rate" in content and any(True for _ in _blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each answer of a text, and the text with the lines of the timings left empty."""
    loads, text = read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)
    drop_words_of_answers(loads, content)
    return loads, text


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines of each answer; the next one begins with a name that stood already, or with the total."""
    start, names = 0, set[str]()
    for index, line in enumerate([*lines, ""]):
        match = _match(line)
        name = match["name"] if match else None
        if name is None or name in names or name == "total duration":
            if len(names) >= LEAST_LINES and not SPEEDS.isdisjoint(names):
                yield start, index
            names.clear()
        if name:
            start = start if names else index
            names.add(name)


def _match(line: str) -> re.Match[str] | None:
    return LINE.fullmatch(line[:100].translate(MARKS))


def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    lines, command = block.lines, block.command
    model = next((word for word in command.words.split() if not word.startswith("-")), None)
    values = {match["name"]: match["value"] for line in lines if (match := _match(line))}
    tool = TOOL if "total duration" in values else TOOL_OR_OTHER
    load = LoadBuilder(ticket, tool, None, tool, ticket.file_date, number=number, model=model, planned_requests=1)
    lengths = {name: int(match["tokens"]) for name in COUNTS if (match := COUNT.fullmatch(values.get(name, "")))}
    point = MeasurementPoint("one request", 1, lengths.get("prompt eval count"), lengths.get("eval count"))
    for name, value in values.items():
        if name in DURATIONS:
            metric, factor = DURATIONS[name]
            seconds = seconds_of(value)
            load.result(point, metric, STATED, value if seconds is None else seconds, factor=factor)
        elif name in COUNTS:
            load.result(point, COUNTS[name], "total", lengths.get(name, value))
        else:
            match = RATE.fullmatch(value)
            load.result(point, RATES[name], STATED, float(match["tps"]) if match else value)
    return load
