"""Timestamps of log lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from domain import Run
from engines.prefixes import YEARLESS

CLOCK_SLACK = timedelta(minutes=1)
LEAP_YEARS = 8  # the longest gap between two 29ths of February, in years


def line_time(stamp: datetime | None, elapsed_s: float | None, run: Run, now: datetime) -> tuple[datetime, str]:
    """Return the time of a line (UTC) and its source: 'stamp', 'elapsed' or 'read'.

    A stamp without a time zone is local time of the server: this machine's zone, or UTC as in most containers,
    whichever lies between the process's start and now. An elapsed time counts from the start of the process.
    """
    start = _process_start(run)
    for candidate in _candidates(stamp, now):
        if (start or candidate) - CLOCK_SLACK <= candidate <= now + CLOCK_SLACK:
            return candidate, "stamp"
    if elapsed_s is not None and run.pid_started_at is not None:
        return min(datetime.fromtimestamp(run.pid_started_at, UTC) + timedelta(seconds=elapsed_s), now), "elapsed"
    return now, "read"


def _process_start(run: Run) -> datetime | None:
    """Return the start of the server; an attached server and its log are older than the run."""
    if run.pid_started_at is not None:
        return datetime.fromtimestamp(run.pid_started_at, UTC)
    return run.started_at if run.kind == "launched" else None


def _candidates(stamp: datetime | None, now: datetime) -> Iterator[datetime]:
    if stamp is None:
        return
    for dated_stamp in _with_years(stamp, now):
        if dated_stamp.tzinfo is not None:
            yield dated_stamp.astimezone(UTC)
        else:
            yield dated_stamp.astimezone().astimezone(UTC)
            yield dated_stamp.replace(tzinfo=UTC)


def _with_years(stamp: datetime, now: datetime) -> Iterator[datetime]:
    """Yield the stamp; if it has no year, the stamp in each possible year, latest first."""
    if stamp.year != YEARLESS:
        yield stamp
        return
    for year in range((now + CLOCK_SLACK).year, now.year - LEAP_YEARS - 1, -1):
        try:
            yield stamp.replace(year=year)
        except ValueError:  # 29 February
            continue
