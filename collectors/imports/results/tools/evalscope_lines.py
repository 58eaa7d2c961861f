"""Reads what EvalScope's `perf` printed as lines: the state of a running load as JSON, and the oldest summaries.

The times of those are in seconds without saying so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.tools import evalscope, evalscope_console
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import NO_COMMAND, command_among, model_of, without_blocks

PAIR = re.compile(r'\s{0,12}"(?P<label>[A-Z][^":]{2,60})": {0,4}(?P<value>-?\d{1,12}(?:\.\d{1,9})?),?\s*')
LOGGED = re.compile(r".{0,2000}\bevalscope\b.{0,40}\{\s*")  # the line of the log that a state begins with
DURATION = re.compile(r"\s{0,12}Time taken for tests: \d{1,9}(?:\.\d{1,9})? seconds\s*")
LINE = re.compile(r"\s{0,12}(?P<label>[A-Z][\w ()/]{2,60}): (?P<value>\d{1,12}(?:\.\d{1,9})?)(?: seconds)?\s*")
TITLE = re.compile(r"\s{0,12}Percentile of (?P<what>time to first token|request latency):\s*")
PERCENTILE = re.compile(r"\s{0,12}p(?P<percent>\d{1,2}): (?P<seconds>\d{1,9}(?:\.\d{1,9})?)\s*")
OUTPUT_SPEED = "Throughput(average output tokens per second)"
LABELS = {"time to first token": "Time to first token (s)", "request latency": "Latency (s)"}
MAX_LINE_CHARS = 2_100


def has_printed(content: str) -> bool:
    """Return whether a text contains such lines."""
    return "Time taken for tests" in content and bool(_states(content.splitlines()) or _summaries(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return the loads of a text, and the text with their lines left empty.

    Of the states of a load the last counts, and none if a summary stands in the text too.
    """
    if "Time taken for tests" not in content:
        return [], content
    lines = content.splitlines()
    states, summaries = _states(lines), _summaries(lines)
    loads: list[LoadBuilder] = []
    if states and not evalscope_console.has_printed(content):
        start, end = states[-1]
        pairs = [match for line in lines[start:end] if (match := PAIR.fullmatch(line))]
        loads.append(_load(lines[:start], ticket, first_number))
        evalscope.add_summary(loads[0], {pair["label"]: number_or_text(pair["value"]) for pair in pairs})
    for start, end in summaries:
        load = _load(lines[:start], ticket, first_number + len(loads))
        _add_summary(load, lines[start:end])
        loads.append(load)
    return loads, without_blocks(lines, [*states, *summaries])


def _load(lines_above: Sequence[str], ticket: Ticket, number: int) -> LoadBuilder:
    command = command_among(lines_above, evalscope_console.PROGRAM) or NO_COMMAND
    tool = evalscope.TOOL
    line = len(lines_above) + 1
    return LoadBuilder(ticket, tool, None, tool, ticket.file_date, number=number, model=model_of(command), line=line)


def _states(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the states of a load that its log has as JSON, each with the line it begins with and its brace."""
    states = []
    for start in (index for index, line in enumerate(lines) if LOGGED.fullmatch(line[:MAX_LINE_CHARS])):
        end = _run_end(lines, start + 1, PAIR)
        is_state = any('"Time taken for tests (s)"' in line for line in lines[start + 1 : end])
        states += [(start, end + (end < len(lines) and lines[end].strip() == "}"))] if is_state else []
    return states


def _summaries(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the oldest summaries: the lines from the duration on, with the percentiles below."""
    starts = [index for index, line in enumerate(lines) if DURATION.fullmatch(line[:100])]
    return [(start, _run_end(lines, start, LINE, TITLE, PERCENTILE)) for start in starts]


def _run_end(lines: Sequence[str], start: int, *patterns: re.Pattern[str]) -> int:
    end = start
    while end < len(lines) and any(pattern.fullmatch(lines[end][:200]) for pattern in patterns):
        end += 1
    return end


def _add_summary(load: LoadBuilder, lines: Sequence[str]) -> None:
    point = evalscope.add_summary(load, dict(_labelled(lines)))
    label = ""
    for line in lines:
        if title := TITLE.fullmatch(line):
            label = LABELS[title["what"]]
        elif label and (match := PERCENTILE.fullmatch(line)):
            statistic = evalscope.statistic_of(f"{match['percent']}%")
            evalscope.add_value(load, point, label, float(match["seconds"]), statistic)


def _labelled(lines: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a summary under the labels of later ones, which state the units."""
    later: Mapping[str, str] = {OUTPUT_SPEED: "Output token throughput (tok/s)"}
    for match in filter(None, map(LINE.fullmatch, lines)):
        label = match["label"]
        is_time = "latency" in label or label.startswith(("Average time", "Time "))
        yield later.get(label, f"{label} (s)" if is_time else label), number_or_text(match["value"])
