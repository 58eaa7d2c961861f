"""Tells an engine's log from a text that quotes lines of one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from collectors.imports.results.prose.llama_timings import is_timing
from engines import ENGINES
from engines.base import Engine, LogEvent, ParsedSample, first_match
from engines.lines import LineSplitter

_FENCED = re.compile(
    r"^\s{0,12}(?P<mark>`{3,8}|~{3,8})[^\n`]{0,80}\n(?P<quoted>.*?)(?:^\s{0,12}(?P=mark)\s*?$|\Z)",
    re.MULTILINE | re.DOTALL,
)

MAX_EXCERPT_LINES = 12
MAX_REPORT_LINES = 400
LEAST_REPORT_LINES = 4  # for each line of a log in it


def writes_lines(engine: Engine | None, parts: Iterable[bytes]) -> bool:
    """Return whether an engine wrote a line of a text: one with a time or a sample. Quoted lines have no time."""
    if engine is None or engine.log is None:
        return False
    parser = engine.log.log_parser()
    return any(map(_is_of_line, (event for data in parts for event in parser.feed(data))))


def _is_of_line(event: LogEvent) -> bool:
    return isinstance(event, ParsedSample) or event.stamp is not None


def is_log(text: str) -> bool:
    """Return whether an engine wrote a line of a text."""
    return writes_lines(first_match(ENGINES, text), [text.encode()])


def is_excerpt(text: str) -> bool:
    """Return whether an engine wrote a line of a text, the last one included, whose sample a log holds back."""
    engine = first_match(ENGINES, text)
    if engine is None or engine.log is None:
        return False
    parser = engine.log.log_parser()
    return any(map(_is_of_line, (*parser.feed(text.encode()), *parser.close())))


def compares_excerpts(text: str) -> bool:
    """Return whether a text quotes several short passages and none that is longer: its words tell them apart."""
    quotations = [match["quoted"] for match in _FENCED.finditer(text)]
    are_short = all(quoted.count("\n") <= MAX_EXCERPT_LINES for quoted in quotations)
    return len(quotations) > 1 and are_short and not is_log(_FENCED.sub("", text))


def without_log_lines(text: str) -> str | None:
    """Return a report without the few lines of a log that it shows without fences; None for any other text.

    A log that a report stands in has more of them, or lines around them that name its engine, too.
    """
    lines = text.splitlines()
    if first_match(ENGINES, text) is None or len(lines) > MAX_REPORT_LINES:
        return None
    own_lines = [line for line in lines if not (first_match(ENGINES, line) and is_excerpt(f"{line}\n"))]
    count = len(lines) - len(own_lines)
    is_report = (
        0 < count <= MAX_EXCERPT_LINES and sum(map(bool, map(str.strip, own_lines))) > LEAST_REPORT_LINES * count
    )
    words = "\n".join(own_lines)
    return words if is_report and first_match(ENGINES, words) is None else None


def words_of_post(text: str) -> str | None:
    """Return the lines of a short text that no program logged; None if it has none of an engine, or many.

    Unlike a report, such a post may have fewer lines of its own than of a log: what they state decides what it is.
    """
    lines = text.splitlines()
    if first_match(ENGINES, text) is None or len(lines) > MAX_REPORT_LINES:
        return None
    words = without_records(text)
    count = sum(map(bool, map(str.strip, lines))) - sum(map(bool, map(str.strip, words.splitlines())))
    return words if 0 < count <= MAX_EXCERPT_LINES and first_match(ENGINES, words) is None else None


def without_records(text: str) -> str:
    """Return a text without the lines that an engine or another program logged."""
    return "\n".join(line for line in text.splitlines() if not _is_record(line))


def _is_record(line: str) -> bool:
    """Return whether a line is one of an engine's log, or has the time or the level of any."""
    data = f"{line}\n".encode()
    records = LineSplitter().feed(data)
    is_of_program = any(record.stamp or record.level or record.process for record in records)
    return is_of_program or is_timing(line) or first_match(ENGINES, line) is not None


def without_quoted_logs(text: str) -> str | None:
    """Return a text without the fenced passages that an engine wrote; None if it has none."""
    quotations = [match for match in _FENCED.finditer(text) if is_log(match["quoted"])]
    if not quotations:
        return None
    starts = [0, *(match.end() for match in quotations)]
    ends = [*(match.start() for match in quotations), len(text)]
    return "\n".join(text[start:end] for start, end in zip(starts, ends, strict=True))
