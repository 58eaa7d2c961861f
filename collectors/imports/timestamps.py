"""Times of an imported log's lines, from their timestamps, the file's date and the user's settings.

A live log is read as it grows, so the current time completes its timestamps. In an imported file the time zone and the
year may have to be inferred. The inferred values are shown and stored, so that a longer copy is read in the same way.
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
from engines.base import ParsedLine
from engines.lines import LineSplitter
from engines.prefixes import YEARLESS, place_year

ENDS_BYTES = 1 << 20  # searched at each end of the file for a line with a time
DATE_SLACK = timedelta(days=1)  # a file's date may be slightly before its last stamp: another zone, a copy
SAME_MOMENT_S = 10.0  # tolerance between the last line and the file's date, apart from the zone
HALF_A_YEAR = timedelta(days=182.5)
_HALF_HOUR = timedelta(minutes=30)
_OFFSET = re.compile(r"(?:UTC)?([+-])(\d\d?):?(\d\d)?")


class TimePlan(BaseModel):
    """Rules that complete the times of one log; stored next to its copy."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    zone: str | None = None  # of stamps without one: 'Europe/Berlin', '+02:00'; None: this machine's
    file_date: datetime
    began_at: datetime  # time of the first line that has one; if lines have seconds since the start, that start
    words: str


class TimedEnds(NamedTuple):
    """The first and the last line that have a time."""

    first: ParsedLine | None
    last: ParsedLine | None


def read_zone(text: str) -> tzinfo:
    """Parse 'Europe/Berlin', 'UTC' or '+02:00'; raises ImportRefusedError."""
    offset = _OFFSET.fullmatch(text.strip())
    if offset and int(offset[2]) <= 14 and int(offset[3] or 0) < 60:
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(text.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImportRefusedError(f"{text!r} is not a time zone; examples: Europe/Berlin, UTC, +02:00.") from None


def plan_times(path: Path, file_date: datetime, zone: str | None) -> TimePlan:
    """Return the rules that complete this log's times; `zone`: the user's; `file_date` (UTC): last change."""
    first, last = ends_of(path)
    if first and last and first.stamp and last.stamp:
        return _plan_stamps(first.stamp, last.stamp, file_date, zone)
    if last and last.elapsed_s is not None:
        words = (
            "The lines have seconds since the start; "
            f"the last line is dated to the file's date, {_date_text(file_date)}."
        )
        return TimePlan(file_date=file_date, began_at=file_date - timedelta(seconds=last.elapsed_s), words=words)
    words = f"No line has a time: all are dated to the file's date, {_date_text(file_date)}."
    return TimePlan(file_date=file_date, began_at=file_date, words=words)


def _plan_stamps(first: datetime, last: datetime, file_date: datetime, requested_zone: str | None) -> TimePlan:
    zone, words = None, ["Times are those of the lines."]
    if last.tzinfo is None:
        zone_from_date = _zone_from_file_date(last, file_date)
        zone = requested_zone or zone_from_date
        source = (
            "as chosen"
            if requested_zone
            else "inferred from the file's date"
            if zone_from_date
            else "this machine's, since none can be inferred"
        )
        words.append(f"They have no time zone: {zone or datetime.now().astimezone().tzname()}, {source}.")
    plan = TimePlan(zone=zone, file_date=file_date, began_at=file_date, words="")
    began_at = ImportTimes(plan).to_utc(first) or file_date
    if first.year == YEARLESS:
        words.append(f"They have no year: {began_at.year}, inferred from the file's date.")
    return plan.model_copy(update={"began_at": began_at, "words": " ".join(words)})


def _date_text(time: datetime) -> str:
    return f"{time:%d %b %Y %H:%M:%S} UTC"


def _zone_from_file_date(last: datetime, file_date: datetime) -> str | None:
    """Return the UTC offset at which the last line is as old as the file, if a multiple of half an hour fits."""
    utc = file_date.replace(tzinfo=None)
    offset = place_year(last, utc) - utc
    half_hours = round(offset / _HALF_HOUR)
    if not -24 <= half_hours <= 28 or abs((offset - half_hours * _HALF_HOUR).total_seconds()) > SAME_MOMENT_S:
        return None
    return f"{'-' if half_hours < 0 else '+'}{abs(half_hours) // 2:02d}:{abs(half_hours) % 2 * 30:02d}"


def ends_of(path: Path) -> TimedEnds:
    """Return the first and the last line of a log that have a time."""
    with path.open("rb") as file:
        head = file.read(ENDS_BYTES)
        file.seek(max(path.stat().st_size - ENDS_BYTES, 0))
        tail = file.read().partition(b"\n")[2] if path.stat().st_size > ENDS_BYTES else head
    return TimedEnds(next(iter(_lines_with_time(head)), None), next(reversed(_lines_with_time(tail)), None))


def _lines_with_time(data: bytes) -> list[ParsedLine]:
    """Return the lines with a stamp; without any, the lines with an elapsed time."""
    splitter = LineSplitter()
    lines = [*splitter.feed(data), *splitter.close()]
    return [line for line in lines if line.stamp] or [line for line in lines if line.elapsed_s is not None]


class ImportTimes:
    """Replacement for `line_time` for one imported log, called in the order of its lines."""

    def __init__(self, plan: TimePlan) -> None:
        self._plan = plan
        self._zone = read_zone(plan.zone) if plan.zone else None
        self._last_stamp: datetime | None = None  # the last stamp as printed, with its year
        self.last: datetime | None = None

    def __call__(
        self, stamp: datetime | None, elapsed_s: float | None, run: Run, now: datetime
    ) -> tuple[datetime, str]:
        """Return the time (UTC) and its source; a line without a time gets that of the line before ('near')."""
        time, source = self.to_utc(stamp), "stamp"
        if time is None and elapsed_s is not None and self._last_stamp is None:
            time, source = self._plan.began_at + timedelta(seconds=elapsed_s), "elapsed"
        if time is None:
            return self.last or self._plan.began_at, "near"
        self.last = time
        return time, source

    def to_utc(self, stamp: datetime | None) -> datetime | None:
        """Return a stamp in UTC with year and zone completed; None without a stamp or outside the calendar."""
        if stamp is None:
            return None
        try:
            full_stamp = self._with_year(stamp)
            self._last_stamp = full_stamp.replace(tzinfo=None)
            if full_stamp.tzinfo is None and self._zone:
                full_stamp = full_stamp.replace(tzinfo=self._zone)
            return full_stamp.astimezone(UTC)
        except OverflowError:
            return None

    def _with_year(self, stamp: datetime) -> datetime:
        if stamp.year != YEARLESS:
            return stamp
        if self._last_stamp:
            return place_year(stamp, self._last_stamp)
        latest = (self._plan.file_date + DATE_SLACK).replace(tzinfo=None)
        return place_year(stamp, latest - HALF_A_YEAR)  # within the year that ends at `latest`
