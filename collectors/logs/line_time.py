"""When a log line was written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from domain import Run
from engines.prefixes import YEARLESS

CLOCK_SLACK = timedelta(minutes=1)
LEAP_YEARS = 8  # the most years between two 29ths of February


def line_time(stamp: datetime | None, elapsed_s: float | None, run: Run, now: datetime) -> tuple[datetime, str]:
    """The time of a line (UTC) and how it is known: 'stamp', 'elapsed' or 'read'.

    A stamp without a zone is the server's local time: this machine's zone, or UTC as in most containers, whichever
    falls between the process's start and now. An elapsed time counts from the start of the process.
    """
    began = _process_start(run)
    for candidate in _candidates(stamp, now):
        if (began or candidate) - CLOCK_SLACK <= candidate <= now + CLOCK_SLACK:
            return candidate, "stamp"
    if elapsed_s is not None and run.pid_started_at is not None:
        return min(datetime.fromtimestamp(run.pid_started_at, UTC) + timedelta(seconds=elapsed_s), now), "elapsed"
    return now, "read"


def _process_start(run: Run) -> datetime | None:
    """An attached server is older than its run, and its log may begin long before."""
    if run.pid_started_at is not None:
        return datetime.fromtimestamp(run.pid_started_at, UTC)
    return run.started_at if run.kind == "launched" else None


def _candidates(stamp: datetime | None, now: datetime) -> Iterator[datetime]:
    if stamp is None:
        return
    for dated in _dated(stamp, now):
        if dated.tzinfo is not None:
            yield dated.astimezone(UTC)
        else:
            yield dated.astimezone().astimezone(UTC)
            yield dated.replace(tzinfo=UTC)


def _dated(stamp: datetime, now: datetime) -> Iterator[datetime]:
    """The stamp, or where it states no year the stamp in each year that may be meant, the latest first."""
    if stamp.year != YEARLESS:
        yield stamp
        return
    for year in range((now + CLOCK_SLACK).year, now.year - LEAP_YEARS - 1, -1):
        try:
            yield stamp.replace(year=year)
        except ValueError:  # 29 February
            continue
