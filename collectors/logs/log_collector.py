"""A server's log, read live by its engine's parser: stats lines to samples, facts, warnings and causes to events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from collectors.base import Clock, Positions
from collectors.logs.line_time import line_time
from collectors.logs.tail_collector import FollowCollector, Placed, Reader
from domain import Run
from engines import BY_NAME
from engines.base import LogEvent, LogGrammar, LogReading, Mark, ParsedSample, StartupFact
from redaction import mask_json, mask_text
from samples import Event

EVENT_KINDS = {"phase": "phase", "ready": "phase", "warning": "warning", "failure": "failure"}
MOST_REPORTED = 1000  # different warnings of one log
TimeOf = Callable[[datetime | None, float | None, Run, datetime], tuple[datetime, str]]  # as line_time


def log_collector(positions: Positions, clock: Clock | None = None) -> FollowCollector:
    """The collector of every run's `log_path`."""
    clock = clock or Clock()
    time_of = _time_ahead(clock.ahead_s)
    return FollowCollector("log", _log_path, lambda run: log_reader(run, time_of), positions, clock)


def log_reader(run: Run, time_of: TimeOf = line_time) -> Reader:
    """The reader of this run's engine; one without a log grammar has its bytes counted and no more."""
    engine = BY_NAME.get(run.config.engine)
    return LogReader(engine.log, time_of) if engine and engine.log else ByteCounter()


def _time_ahead(ahead_s: Callable[[], float]) -> TimeOf:
    """`line_time` where our clock is ahead of the machine's, which the server's stamps are of."""

    def time_of(stamp: datetime | None, elapsed_s: float | None, run: Run, now: datetime) -> tuple[datetime, str]:
        return line_time(stamp and stamp + timedelta(seconds=ahead_s()), elapsed_s, run, now)

    return time_of


def _log_path(run: Run) -> Path | None:
    return Path(run.log_path) if run.log_path else None


class ByteCounter:
    """Counts the bytes of a log that no parser reads."""

    def __init__(self) -> None:
        self._bytes = 0

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[Placed]:
        """Count the bytes; there is no sample in them."""
        self._bytes += len(data)
        return ()

    def idle(self, run: Run, now: datetime) -> Iterable[Placed]:
        """Nothing: no line is ever held."""
        return ()

    def close(self, run: Run, now: datetime) -> Iterable[Placed]:
        """Nothing, for a last line without LF has been counted too."""
        return ()

    def settled_offset(self) -> int:
        """The number of all bytes so far: none of them gives a sample later."""
        return self._bytes


class LogReader:
    """An engine's parser with its events in the store's terms; a warning that repeats is reported once."""

    def __init__(self, grammar: LogGrammar, time_of: TimeOf = line_time) -> None:
        self._grammar = grammar
        self._time_of = time_of
        self._parser = grammar.log_parser()
        self._reported: set[tuple[str, str]] = set()

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[Placed]:
        """The samples and events that the parser gives out for these bytes, each with its line's place."""
        return self._placed(self._parser.feed(data), run, now)

    def idle(self, run: Run, now: datetime) -> Iterable[Placed]:
        """What the parser held for a next line, which has not come."""
        return self._placed(self._parser.release_held(), run, now)

    def close(self, run: Run, now: datetime) -> Iterable[Placed]:
        """What a last line without LF says, and whatever the parser held."""
        return self._placed(self._parser.close(), run, now)

    def settled_offset(self) -> int:
        """All samples of lines that start before this byte have been given out, by the parser's word."""
        return self._parser.settled_offset()

    def reading(self) -> LogReading:
        """Everything the log has said so far, beside its samples."""
        return self._parser.reading()

    def _placed(self, events: Iterable[LogEvent], run: Run, now: datetime) -> list[Placed]:
        return [placed for event in events if (placed := self._place(event, run, now))]

    def _place(self, event: LogEvent, run: Run, now: datetime) -> Placed | None:
        if isinstance(event, ParsedSample):
            ts, source = self._time_of(event.stamp, event.elapsed_s, run, now)
            return Placed(event.offset, self._grammar.log_sample(run.id, event, ts, source))
        found = (
            self._startup_event(event, run, now)
            if isinstance(event, StartupFact)
            else self._mark_event(event, run, now)
        )
        return Placed(event.offset, found) if found else None

    def _mark_event(self, mark: Mark, run: Run, now: datetime) -> Event | None:
        kind = EVENT_KINDS.get(mark.kind)
        if kind is None or (mark.kind, mark.text) in self._reported:
            return None
        if kind != "phase" and len(self._reported) < MOST_REPORTED:
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
