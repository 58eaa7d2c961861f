"""The times of an imported log's lines, from their timestamps, the file's date and what the user states.

A live log is read as it grows, so the current time completes its timestamps. In an imported file the time zone and the
year may have to be inferred. What was inferred is shown and stored, so that a longer copy is read in the same way.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict

from collectors.imports.log_file import ImportRefusedError
from domain import Run
from engines.base import Line
from engines.lines import LineSplitter
from engines.prefixes import YEARLESS, place_year

ENDS_BYTES = 1 << 20  # of each end of the file, looked through for a line with a time
DATE_SLACK = timedelta(days=1)  # a file may be dated a little before its last stamp: another zone, a copy
SAME_MOMENT_S = 10.0  # the last line and the file's date, apart from the zone
HALF_A_YEAR = timedelta(days=182.5)
_HALF_HOUR = timedelta(minutes=30)
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d?):?(\d\d)?")


class TimePlan(BaseModel):
    """How the times of one log are completed; kept beside its copy."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    zone: str | None = None  # for stamps that say none: 'Europe/Berlin', '+02:00'; None: this machine's
    file_date: datetime
    began_at: datetime  # the first line with a time; where lines count the seconds since the start, that start
    words: str


class Ends(NamedTuple):
    """The times of the first and the last line that has one."""

    first: Line | None
    last: Line | None


def read_zone(text: str) -> tzinfo:
    """'Europe/Berlin', 'UTC' or '+02:00'; raises ImportRefusedError."""
    offset = _OFFSET.fullmatch(text.strip())
    if offset and int(offset[2]) <= 14 and int(offset[3] or 0) < 60:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(text.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImportRefusedError(f"{text!r} is no time zone; say one as Europe/Berlin, UTC or +02:00.") from None


def plan_times(path: Path, file_date: datetime, zone: str | None) -> TimePlan:
    """What completes the times of this log; `zone` is the person's, `file_date` (UTC) that of the last change."""
    first, last = ends_of(path)
    if first and last and first.stamp and last.stamp:
        return _plan_stamps(first.stamp, last.stamp, file_date, zone)
    if last and last.elapsed_s is not None:
        words = (
            f"The lines count the seconds since the start; the last is placed at the file's date, {_said(file_date)}."
        )
        return TimePlan(file_date=file_date, began_at=file_date - timedelta(seconds=last.elapsed_s), words=words)
    words = f"No line says a time: all are placed at the file's date, {_said(file_date)}."
    return TimePlan(file_date=file_date, began_at=file_date, words=words)


def _plan_stamps(first: datetime, last: datetime, file_date: datetime, wanted: str | None) -> TimePlan:
    zone, words = None, ["Times are those of the lines."]
    if last.tzinfo is None:
        shown = _zone_shown_by(last, file_date)
        zone = wanted or shown
        why = "as chosen" if wanted else "as the file's date shows" if shown else "this machine's, for want of a better"
        words.append(f"They name no zone: {zone or datetime.now().astimezone().tzname()}, {why}.")
    plan = TimePlan(zone=zone, file_date=file_date, began_at=file_date, words="")
    began_at = ImportTimes(plan).place(first) or file_date
    if first.year == YEARLESS:
        words.append(f"They name no year: {began_at.year}, as the file's date suggests.")
    return plan.model_copy(update={"began_at": began_at, "words": " ".join(words)})


def _said(moment: datetime) -> str:
    return f"{moment:%d %b %Y %H:%M:%S} UTC"


def _zone_shown_by(last: datetime, file_date: datetime) -> str | None:
    """The offset by which the last line and the file's date are one moment, if a whole or half hour does it."""
    utc = file_date.replace(tzinfo=None)
    ahead = place_year(last, utc) - utc
    halves = round(ahead / _HALF_HOUR)
    if not -24 <= halves <= 28 or abs((ahead - halves * _HALF_HOUR).total_seconds()) > SAME_MOMENT_S:
        return None
    return f"{'-' if halves < 0 else '+'}{abs(halves) // 2:02d}:{abs(halves) % 2 * 30:02d}"


def ends_of(path: Path) -> Ends:
    """The first and the last line of a log that say when they were written."""
    with path.open("rb") as file:
        head = file.read(ENDS_BYTES)
        file.seek(max(path.stat().st_size - ENDS_BYTES, 0))
        tail = file.read().partition(b"\n")[2] if path.stat().st_size > ENDS_BYTES else head
    return Ends(next(iter(_timed(head)), None), next(reversed(_timed(tail)), None))


def _timed(data: bytes) -> list[Line]:
    """The lines with a stamp, or if there is none, those with an elapsed time."""
    splitter = LineSplitter()
    lines = [*splitter.feed(data), *splitter.close()]
    return [line for line in lines if line.stamp] or [line for line in lines if line.elapsed_s is not None]


class ImportTimes:
    """The times of one log's lines, asked in the order of the log; in place of `line_time`."""

    def __init__(self, plan: TimePlan) -> None:
        self._plan = plan
        self._zone = read_zone(plan.zone) if plan.zone else None
        self._near: datetime | None = None  # the last stamp as printed, with its year
        self.last: datetime | None = None

    def __call__(
        self, stamp: datetime | None, elapsed_s: float | None, run: Run, now: datetime
    ) -> tuple[datetime, str]:
        """UTC and how it is known; a line that says no time stands where the one before it does ('near')."""
        placed, source = self.place(stamp), "stamp"
        if placed is None and elapsed_s is not None and self._near is None:
            placed, source = self._plan.began_at + timedelta(seconds=elapsed_s), "elapsed"
        if placed is None:
            return self.last or self._plan.began_at, "near"
        self.last = placed
        return placed, source

    def place(self, stamp: datetime | None) -> datetime | None:
        """A stamp in UTC, its year and zone completed; None for none, or for one outside the calendar."""
        if stamp is None:
            return None
        try:
            dated = self._dated(stamp)
            self._near = dated.replace(tzinfo=None)
            if dated.tzinfo is None and self._zone:
                dated = dated.replace(tzinfo=self._zone)
            return dated.astimezone(UTC)
        except OverflowError:
            return None

    def _dated(self, stamp: datetime) -> datetime:
        if stamp.year != YEARLESS:
            return stamp
        if self._near:
            return place_year(stamp, self._near)
        latest = (self._plan.file_date + DATE_SLACK).replace(tzinfo=None)
        return place_year(stamp, latest - HALF_A_YEAR)  # of the year that ends with `latest`
