"""Collects a server's log with its engine's parser: statistics become samples; facts, warnings and causes, events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from collectors.base import Clock, Positions
from collectors.logs.line_time import line_time
from collectors.logs.log_marks import LIVE_MARKS, LogMarks, ParsedLog
from collectors.logs.tail_collector import FollowCollector, PositionedSample, SampleReader
from domain import Run
from engines import BY_NAME
from engines.base import LogEvent, LogGrammar, LogMark, LogReading, ParsedSample, StartupFact
from redaction import mask_json, mask_text
from samples import Event

EVENT_KINDS = {"phase": "phase", "ready": "phase", "warning": "warning", "failure": "failure"}
MAX_REPORTED = 1000  # distinct warnings per log
TimeOf = Callable[[datetime | None, float | None, Run, datetime], tuple[datetime, str]]  # as line_time


def log_collector(positions: Positions, clock: Clock | None = None) -> FollowCollector:
    """Return the collector of every run's `log_path`."""
    clock = clock or Clock()
    time_of = _time_function(clock.ahead_s)
    return FollowCollector("log", _log_path, lambda run: log_reader(run, time_of, LIVE_MARKS), positions, clock)


def log_reader(run: Run, time_of: TimeOf = line_time, marks: LogMarks | None = None) -> SampleReader:
    """Return the reader of a run's log by its engine's grammar; without a grammar it only counts bytes.

    marks: receives the marks of the lines, for the log view.
    """
    engine = BY_NAME.get(run.config.engine)
    if engine is None or engine.log is None:
        return ByteCounter()
    return LogReader(engine.log, time_of, marks.start_log(str(_log_path(run))) if marks else None)


def _time_function(ahead_s: Callable[[], float]) -> TimeOf:
    """Return `line_time` adjusted for Pitwall's clock being ahead of the machine's, which servers use in their logs."""

    def time_of(stamp: datetime | None, elapsed_s: float | None, run: Run, now: datetime) -> tuple[datetime, str]:
        return line_time(stamp and stamp + timedelta(seconds=ahead_s()), elapsed_s, run, now)

    return time_of


def _log_path(run: Run) -> Path | None:
    return Path(run.log_path) if run.log_path else None


class ByteCounter:
    """Counts the bytes of a log that no parser reads."""

    def __init__(self) -> None:
        self._bytes = 0

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Count the bytes; returns no samples."""
        self._bytes += len(data)
        return ()

    def idle(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return nothing: no line is ever pending."""
        return ()

    def close(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return nothing: a last line without LF is already counted."""
        return ()

    def settled_offset(self) -> int:
        """Return the number of bytes so far; none of them produces a sample later."""
        return self._bytes


class LogReader:
    """Converts the events of an engine's parser to samples; a repeated warning is reported once."""

    def __init__(self, grammar: LogGrammar, time_of: TimeOf = line_time, parsed_log: ParsedLog | None = None) -> None:
        """parsed_log: receives the marks of the lines, which samples and events do not keep."""
        self._grammar = grammar
        self._parsed_log = parsed_log
        self._time_of = time_of
        self._parser = grammar.log_parser()
        self._reported: set[tuple[str, str]] = set()

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return the samples and events for these bytes, each with the offset of its line."""
        return self._to_samples(self._parser.feed(data), run, now)

    def idle(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return what the parser held back for a next line that has not come."""
        return self._to_samples(self._parser.release_held(), run, now)

    def close(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return the samples of a last line without LF and everything the parser held back."""
        return self._to_samples(self._parser.close(), run, now)

    def settled_offset(self) -> int:
        """Return the offset before which all lines have produced their samples."""
        return self._parser.settled_offset()

    def reading(self) -> LogReading:
        """Return what the log has reported so far in addition to its samples."""
        return self._parser.reading()

    def _to_samples(self, events: Iterable[LogEvent], run: Run, now: datetime) -> list[PositionedSample]:
        events = list(events)
        if self._parsed_log:
            self._parsed_log.add(events, self._parser.settled_offset())
        return [sample for event in events if (sample := self._to_sample(event, run, now))]

    def _to_sample(self, event: LogEvent, run: Run, now: datetime) -> PositionedSample | None:
        if isinstance(event, ParsedSample):
            ts, source = self._time_of(event.stamp, event.elapsed_s, run, now)
            return PositionedSample(event.offset, self._grammar.log_sample(run.id, event, ts, source))
        log_event = (
            self._startup_event(event, run, now)
            if isinstance(event, StartupFact)
            else self._mark_event(event, run, now)
        )
        return PositionedSample(event.offset, log_event) if log_event else None

    def _mark_event(self, mark: LogMark, run: Run, now: datetime) -> Event | None:
        kind = EVENT_KINDS.get(mark.kind)
        if kind is None or (mark.kind, mark.text) in self._reported:
            return None
        if kind != "phase" and len(self._reported) < MAX_REPORTED:
            self._reported.add((mark.kind, mark.text))
        return Event(
            run_id=run.id,
            ts=self._time_of(mark.stamp, None, run, now)[0],
            kind=kind,
            text=mask_text(mark.text),
            line=mark.line,
            offset=mark.offset,
            data={"mark": mark.kind, "evidence": mask_json(mark.evidence)},
        )

    def _startup_event(self, fact: StartupFact, run: Run, now: datetime) -> Event:
        value = mask_json(fact.value, fact.key)
        return Event(
            run_id=run.id,
            ts=self._time_of(fact.stamp, None, run, now)[0],
            kind="startup",
            text=f"{fact.key}: {value}",
            line=fact.line,
            offset=fact.offset,
            data={"key": fact.key, "value": value},
        )
