"""A server's log, read live by its engine's parser: stats lines to samples, facts, warnings and causes to events."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collectors.base import Clock, Positions
from collectors.follow import FollowCollector, Placed, Reader
from domain import Event, Run
from engines import BY_NAME
from engines.base import LogEvent, LogGrammar, Mark, ParsedSample, StartupFact

EVENT_KINDS = {"phase": "phase", "ready": "phase", "warning": "warning", "failure": "failure"}
CLOCK_SLACK = timedelta(minutes=1)
MOST_TOLD = 1000  # different warnings of one log


def log_collector(positions: Positions, clock: Clock | None = None) -> FollowCollector:
    """The collector of every run's `log_path`."""
    return FollowCollector("log", _log_path, log_reader, positions, clock)


def log_reader(run: Run) -> Reader:
    """The reader of this run's engine; one without a log grammar has its bytes counted and no more."""
    engine = BY_NAME.get(run.config.engine)
    return LogReader(engine.log) if engine and engine.log else ByteCounter()


def _log_path(run: Run) -> Path | None:
    return Path(run.log_path) if run.log_path else None


class ByteCounter:
    """Of a log that nobody can read only the length is known."""

    def __init__(self) -> None:
        self._bytes = 0

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[Placed]:
        self._bytes += len(data)
        return ()

    def idle(self, run: Run, now: datetime) -> Iterable[Placed]:
        return ()

    def close(self, run: Run, now: datetime) -> Iterable[Placed]:
        return ()

    def settled_offset(self) -> int:
        return self._bytes


class LogReader:
    """An engine's parser with its events in the store's terms; a warning that repeats is told once."""

    def __init__(self, grammar: LogGrammar) -> None:
        self._grammar = grammar
        self._parser = grammar.log_parser()
        self._told: set[tuple[str, str]] = set()

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[Placed]:
        return self._placed(self._parser.feed(data), run, now)

    def idle(self, run: Run, now: datetime) -> Iterable[Placed]:
        return self._placed(self._parser.release_held(), run, now)

    def close(self, run: Run, now: datetime) -> Iterable[Placed]:
        return self._placed(self._parser.close(), run, now)

    def settled_offset(self) -> int:
        return self._parser.settled_offset()

    def _placed(self, events: Iterable[LogEvent], run: Run, now: datetime) -> list[Placed]:
        return [placed for event in events if (placed := self._place(event, run, now))]

    def _place(self, event: LogEvent, run: Run, now: datetime) -> Placed | None:
        if isinstance(event, ParsedSample):
            ts, source = line_time(event.stamp, event.elapsed_s, run, now)
            return Placed(event.offset, self._grammar.log_sample(run.id, event, ts, source))
        told = _startup_event(event, run, now) if isinstance(event, StartupFact) else self._mark_event(event, run, now)
        return Placed(event.offset, told) if told else None

    def _mark_event(self, mark: Mark, run: Run, now: datetime) -> Event | None:
        kind = EVENT_KINDS.get(mark.kind)
        if kind is None or (mark.kind, mark.text) in self._told:
            return None
        if kind != "phase" and len(self._told) < MOST_TOLD:
            self._told.add((mark.kind, mark.text))
        return Event(
            run_id=run.id,
            ts=line_time(mark.stamp, None, run, now)[0],
            kind=kind,
            text=mark.text,
            line=mark.line,
            offset=mark.offset,
            data={"mark": mark.kind, "evidence": mark.evidence},
        )


def _startup_event(fact: StartupFact, run: Run, now: datetime) -> Event:
    return Event(
        run_id=run.id,
        ts=line_time(fact.stamp, None, run, now)[0],
        kind="startup",
        text=f"{fact.key}: {fact.value}",
        line=fact.line,
        offset=fact.offset,
        data={"key": fact.key, "value": fact.value},
    )


def line_time(stamp: datetime | None, elapsed_s: float | None, run: Run, now: datetime) -> tuple[datetime, str]:
    """When a line was written (UTC) and how that is known: 'stamp', 'elapsed' or 'read'.

    A stamp without a zone is the server's local time: this machine's zone, or UTC as in most containers, whichever
    falls between the run's start and now. An elapsed time counts from the start of the process.
    """
    for candidate in _stamp_candidates(stamp):
        if (_process_start(run) or candidate) - CLOCK_SLACK <= candidate <= now + CLOCK_SLACK:
            return candidate, "stamp"
    if elapsed_s is not None and run.pid_started_at is not None:
        return min(datetime.fromtimestamp(run.pid_started_at, UTC) + timedelta(seconds=elapsed_s), now), "elapsed"
    return now, "read"


def _process_start(run: Run) -> datetime | None:
    """An attached server is older than its run, and its log may begin long before."""
    if run.pid_started_at is not None:
        return datetime.fromtimestamp(run.pid_started_at, UTC)
    return run.started_at if run.kind == "launched" else None


def _stamp_candidates(stamp: datetime | None) -> list[datetime]:
    if stamp is None:
        return []
    if stamp.tzinfo is not None:
        return [stamp.astimezone(UTC)]
    return [stamp.astimezone().astimezone(UTC), stamp.replace(tzinfo=UTC)]
