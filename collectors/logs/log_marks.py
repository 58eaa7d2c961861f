"""Marks of the lines of live logs, from their collectors, so that the log view need not parse them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypedDict

from engines.base import LogEvent, LogMark, ParsedSample
from redaction import mask_text

TAIL_BYTES = 1 << 18  # of each log: twice what a view shows
MAX_LOGS = 64  # the latest ones
MAX_BEHIND_BYTES = 1 << 14  # that a view may show before they are parsed


class LineMark(TypedDict):
    """Mark of a line on a page."""

    kind: str | None
    why: str | None  # one sentence, for warnings and failures
    stamp: datetime | None  # as printed
    elapsed_s: float | None


def mark_events(events: Iterable[LogEvent]) -> dict[int, LineMark]:
    """Return the marks of parsed events by byte offset of their line; a log mark replaces that of a sample."""
    marks: dict[int, LineMark] = {}
    for event in events:
        if isinstance(event, ParsedSample):
            marks[event.offset] = LineMark(kind="throughput", why=None, stamp=event.stamp, elapsed_s=event.elapsed_s)
        elif isinstance(event, LogMark):
            reason = mask_text(event.text) if event.kind in ("warning", "failure") else None
            elapsed_s = marks[event.offset]["elapsed_s"] if event.offset in marks else None
            marks[event.offset] = LineMark(kind=event.kind, why=reason, stamp=event.stamp, elapsed_s=elapsed_s)
    return marks


class ParsedLog:
    """Marks of one log, parsed from its first byte; only those of its end are kept.

    One thread adds, any thread reads: the content is replaced as a whole.
    """

    def __init__(self) -> None:
        self._content: tuple[int, dict[int, LineMark]] = (0, {})

    @property
    def parsed_to(self) -> int:
        """Byte offset before which all lines are parsed."""
        return self._content[0]

    def add(self, events: Iterable[LogEvent], parsed_to: int) -> None:
        """Add the marks of further lines; all lines that begin before `parsed_to` are parsed."""
        marks = self._content[1] | mark_events(events)
        first = parsed_to - TAIL_BYTES
        self._content = parsed_to, {offset: mark for offset, mark in marks.items() if offset >= first}

    def marks_between(self, start: int, end: int) -> dict[int, LineMark] | None:
        """Return the marks of the lines that begin in this range; None if no longer kept or not parsed yet."""
        parsed_to, marks = self._content
        if start < parsed_to - TAIL_BYTES or end > parsed_to + MAX_BEHIND_BYTES:
            return None
        return {offset: mark for offset, mark in marks.items() if start <= offset < end}


class LogMarks:
    """Marks of the logs that this process collects, by path; safe from any thread."""

    def __init__(self) -> None:
        self._logs: dict[str, ParsedLog] = {}

    def start_log(self, path: str) -> ParsedLog:
        """Return an empty log for its collector to fill from the first byte; replaces an earlier one of this path."""
        self._logs.pop(path, None)
        self._logs[path] = parsed_log = ParsedLog()
        for oldest in list(self._logs)[:-MAX_LOGS]:
            self._logs.pop(oldest, None)
        return parsed_log

    def parsed_to(self, path: str) -> int:
        """Return the byte offset to which the log is parsed; 0 if it is not collected here."""
        parsed_log = self._logs.get(path)
        return parsed_log.parsed_to if parsed_log else 0

    def marks_between(self, path: str, start: int, end: int) -> Mapping[int, LineMark] | None:
        """Return the marks of the lines that begin in this range of a log; None if its collector does not have them."""
        parsed_log = self._logs.get(path)
        return parsed_log.marks_between(start, end) if parsed_log else None


LIVE_MARKS = LogMarks()  # of this process
