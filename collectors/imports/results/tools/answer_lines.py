"""Reads the lines that engines and their chat tools print about an answer, and testers of a server about all.

The tools are tables of patterns, whose groups bear the names of what they hold (answer_tools).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED, UNITS, percentile_name
from collectors.imports.results.tools.answer_tools import AnswerTool
from collectors.imports.results.tools.chat_lines import CHAT_TOOLS
from collectors.imports.results.tools.go_durations import seconds_of
from collectors.imports.results.tools.http_tester_lines import HTTP_TESTERS
from collectors.imports.results.tools.http_testers import assumption_note
from collectors.imports.results.tools.printed import SERVERS_LINE
from collectors.imports.results.tools.printed_block import (
    PrintedBlock,
    drop_words_of_answers,
    model_of,
    read_blocks,
)
from collectors.imports.results.tools.runtime_lines import RUNTIMES
from collectors.imports.results.values import converted, count
from domain import JsonValue

TOOLS = (*CHAT_TOOLS, *RUNTIMES, *HTTP_TESTERS)
MAX_LINE_CHARS = 600
FACTORS = {  # suffix of a group -> suffix of the metric, and the factor between them
    "_ms": {"_ms": 1.0, "_s": 1e-3},
    "_s": {"_s": 1.0, "_ms": 1e3},
    "_us": {"_ms": 1e-3, "_s": 1e-6},
    "_ns": {"_ms": 1e-6, "_s": 1e-9},
    "_10s": {"_ms": 1e4, "_s": 10.0},
    "_min": {"_ms": 6e4, "_s": 60.0},
    "_10min": {"_ms": 6e5, "_s": 600.0},
    "_percent": {"": 1e-2},
}
STATED_UNITS = {
    "gb": "GB",
    "bytes": "B",
    "mib": "MiB",
    "ms": "ms",
    "s": "s",
    "tokens": "tokens",
    "tps": "tok/s",
    "ppl": "ppl",
}
NO_READINGS = {"percent", "model", "point", "level", "prompt_length", "output_length", "depth_length"}
ZEROS_NOTE = "Times and speeds of 0 were left out: nothing was measured."
COUNTS = {"requests", "failed_requests"}
LENGTHS = ("level", "prompt_length", "output_length", "depth_length")
MARKS = re.compile(r"[*`]")  # of Markdown
FILLER = re.compile(r"\s{0,99}(?:[-=─]{2,200}\s{0,9})?")


class Reading(NamedTuple):
    """A number of a line: the metric and the statistic, its value in Pitwall's unit, or its own unit and name."""

    metric: str
    statistic: str
    value: float
    unit: str | None = None
    name: str = ""


@dataclass
class AnswerFigures:
    """What the lines about one answer state."""

    readings: list[Reading] = field(default_factory=list)
    lengths: dict[str, int] = field(default_factory=dict)
    facts: dict[str, JsonValue] = field(default_factory=dict)
    model: str | None = None
    name: str = ""
    has_zeros: bool = False


def has_printed(content: str) -> bool:
    """Return whether a text contains a speed or a time in the lines of one of the tools."""
    return any(bool(_blocks_of(tool, content.splitlines())) for tool in TOOLS if tool.needle in content)


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each passage of a tool's lines, and the text with the lines left empty."""
    loads: list[LoadBuilder] = []
    for tool in TOOLS:
        if tool.needle in content:
            loads_of_tool, content = _read_tool(tool, content, ticket, first_number + len(loads))
            loads += loads_of_tool
    return loads, content


def _read_tool(tool: AnswerTool, content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    def build(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
        return _load_of(tool, block, ticket, number)

    loads, text = read_blocks(content, lambda lines: _blocks_of(tool, lines), tool.program, build, ticket, first_number)
    drop_words_of_answers(loads, content)
    return loads, text


def _blocks_of(tool: AnswerTool, lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the passages of the tool's lines; blank lines and rules may part them."""
    blocks: list[tuple[int, int]] = []
    start, end = 0, 0
    for index, line in enumerate(lines):
        if tool.opening and tool.opening.search(line[:MAX_LINE_CHARS]):
            start, end = _closed(tool, lines, (start, end), blocks)
        if len(line) <= MAX_LINE_CHARS and _is_of(tool, line):
            start, end = (start if end else index), index + 1
        elif not FILLER.fullmatch(line[:MAX_LINE_CHARS]) and not (tool.is_http_tester and SERVERS_LINE.match(line)):
            start, end = _closed(tool, lines, (start, end), blocks)
    _closed(tool, lines, (start, end), blocks)
    return blocks


def _closed(
    tool: AnswerTool, lines: Sequence[str], block: tuple[int, int], blocks: list[tuple[int, int]]
) -> tuple[int, int]:
    """Keep a passage if it states a result of its own, and return an empty one."""
    answers = _answers(tool, lines[slice(*block)]) if block[1] else []
    if any(tool.states_quality or reading.metric != STATED for answer in answers for reading in answer.readings):
        blocks.append(block)
    return 0, 0


def _is_of(tool: AnswerTool, line: str) -> bool:
    """Return whether a line may be the tool's: one that is read, a section's heading, or one between them."""
    is_between = tool.between is not None and tool.between.search(line) is not None
    return is_between or _is_section(tool, line) or any(_matches(tool, line))


def _is_section(tool: AnswerTool, line: str) -> bool:
    words = _plain(line).lower().rstrip(":")
    return words != "" and words in tool.sections


def _plain(line: str) -> str:
    return MARKS.sub("", line).strip()


def _matches(tool: AnswerTool, line: str, section: str | None = None) -> Iterator[re.Match[str]]:
    """Yield the matches of a line by the patterns of a section and those that hold anywhere."""
    sections = tool.sections.values() if section is None else [tool.sections.get(section, ())]
    unmarked_line = MARKS.sub("", line)
    for pattern in (*tool.lines, *(pattern for patterns in sections for pattern in patterns)):
        if match := pattern.search(unmarked_line):
            yield match


def _answers(tool: AnswerTool, lines: Sequence[str]) -> list[AnswerFigures]:
    """Return the answers that lines are about: a value that stands already begins the next one."""
    answers, section = [AnswerFigures()], ""
    for line in lines:
        if _is_section(tool, line):
            section = _plain(line).lower().rstrip(":")
        for match in _matches(tool, line[:MAX_LINE_CHARS], section):
            readings = list(_readings(tool, match))
            keys = {(reading.metric, reading.statistic, reading.name) for reading in answers[-1].readings}
            answers[-1].has_zeros |= any(_is_of_nothing(reading) for reading in readings)
            readings = [reading for reading in readings if not _is_of_nothing(reading)]
            repeated = [reading for reading in readings if (reading.metric, reading.statistic, reading.name) in keys]
            is_count = tool.is_http_tester and len(readings) == 1 and readings[0].metric in COUNTS
            if (repeated and not is_count) or tool.has_answer_per_line:
                answers.append(AnswerFigures())
            _add_match(answers[-1], match, readings)
    return [answer for answer in answers if answer.readings]


def _add_match(answer: AnswerFigures, match: re.Match[str], readings: Sequence[Reading]) -> None:
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    for reading in readings:
        _add_reading(answer, reading)
    answer.lengths |= {name: int(text.replace(",", "")) for name, text in groups.items() if name in LENGTHS}
    answer.facts |= {name[5:]: text.strip()[:200] for name, text in groups.items() if name.startswith("fact_")}
    answer.model = groups.get("model", answer.model)
    answer.name = groups.get("point", answer.name)


def _add_reading(answer: AnswerFigures, reading: Reading) -> None:
    """Add a reading; a count that stands already is that of answers with another status, and both are added up."""
    for index, earlier_reading in enumerate(answer.readings):
        if reading[:2] == earlier_reading[:2] and reading.metric in COUNTS:
            answer.readings[index] = reading._replace(value=earlier_reading.value + reading.value)
            return
    answer.readings.append(reading)


def _readings(tool: AnswerTool, match: re.Match[str]) -> Iterator[Reading]:
    """Yield the numbers of a match by the names of its groups: 'ttft_s', 'e2e_ms__p90', 'stated_peak_memory_gb'."""
    percent = match.groupdict().get("percent")
    for group, text in match.groupdict().items():
        name, _, statistic = group.partition("__")
        if text is None or name in NO_READINGS or name.startswith("fact_"):
            continue
        statistic = _percentile(percent) if percent else statistic.replace("_", ".") or tool.statistic
        if name.startswith("stated_"):
            words, _, unit = name[7:].rpartition("_")
            if (value := _value_of(text, unit == "ms", 1.0)) is not None:
                yield Reading(STATED, statistic, value, STATED_UNITS[unit], words.replace("_", " "))
            continue
        metric, factor = metric_of(name)
        if (value := _value_of(text, metric.endswith("_ms"), factor)) is not None:
            yield Reading(metric, statistic, value)


def _value_of(text: str, is_in_ms: bool, factor: float) -> float | None:
    """Return the value of a number, or of a duration with its unit; None for a duration that cannot be read."""
    if not text[-1].isalpha():
        return converted(float(text.replace(",", "")), factor)
    seconds = seconds_of(text.replace(" ", ""))
    return None if seconds is None else converted(seconds, 1e3 if is_in_ms else 1.0)


def metric_of(name: str) -> tuple[str, float]:
    """Return the metric that a group's name is of, and the factor to its unit."""
    if name in UNITS:
        return name, 1.0
    for suffix, targets in FACTORS.items():
        for target, factor in targets.items():
            if name.endswith(suffix) and (metric := name.removesuffix(suffix) + target) in UNITS:
                return metric, factor
    raise KeyError(name)


def _percentile(percent: str) -> str:
    return percentile_name(percent.rstrip("0").rstrip(".") if "." in percent else percent)


def _load_of(tool: AnswerTool, block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    model = None if tool.is_http_tester else model_of(block.command)
    load = LoadBuilder(ticket, tool.name, None, tool.name, ticket.file_date, number=number, model=model)
    answers = _answers(tool, block.lines)
    facts: dict[str, dict[str, JsonValue]] = {}
    for index, answer in enumerate(answers, 1):
        name = _name_of(tool, answer, index if len(answers) > 1 else None)
        level = count(block.command.values(("c",)).get("c")) if tool.is_http_tester else None
        _add_answer(load, tool, answer, name, level)
        load.model = load.model or answer.model
        for fact, text in answer.facts.items():
            facts.setdefault(fact, {})[name] = text
    for fact, by_name in facts.items():
        is_shared = len(set(map(str, by_name.values()))) == 1
        load.params |= (
            {fact: next(iter(by_name.values()))}
            if is_shared
            else {f"{name}: {fact}": by_name[name] for name in by_name}
        )
    load.notes += [assumption_note(tool.name)] if tool.is_http_tester else []
    load.notes += [tool.note] if tool.note else []
    load.notes += [ZEROS_NOTE] if any(answer.has_zeros for answer in answers) else []
    return load


def _is_of_nothing(reading: Reading) -> bool:
    """Return whether a number is a time or a speed of tokens of 0."""
    return not reading.value and reading.metric.endswith(("_ms", "_tps")) and reading.metric != "request_tps"


def _name_of(tool: AnswerTool, answer: AnswerFigures, number: int | None) -> str:
    """Return the point's name: what the line states, its lengths if each line has others, else its number."""
    prompt, output, depth = (answer.lengths.get(length) for length in LENGTHS[1:])
    lengths = [f"pp{prompt}" if prompt else "", f"tg{output}" if output else "", f"@ d{depth}" if depth else ""]
    if answer.name or tool.has_answer_per_line:
        return answer.name or " ".join(filter(None, lengths)) or tool.point
    return tool.point if number is None else f"{tool.point.removeprefix('one ')} {number}"


def _add_answer(
    load: LoadBuilder, tool: AnswerTool, answer: AnswerFigures, name: str, level_of_command: int | None
) -> None:
    level, *lengths = (answer.lengths.get(length) for length in LENGTHS)
    level = next((number for number in (level, level_of_command, tool.concurrency) if number is not None), None)
    point = MeasurementPoint(name, level, *lengths)
    for reading in answer.readings:
        metric = "decode_tps" if reading.metric == "batch_decode_tps" and level == 1 else reading.metric
        stated_name = f"{name}: {reading.name}" if reading.name else name
        load.result(point._replace(name=stated_name), metric, reading.statistic, reading.value, unit=reading.unit)
