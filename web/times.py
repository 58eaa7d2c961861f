"""Formats times in the viewer's time zone, as the browser reports it, with the year and with UTC on hover.

Text that others read too (reports, files, the audit, the command line) uses `format_utc`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from web.markup import text

TimeToHtml = Callable[[datetime], str]  # returns markup
DAYS, MINUTES, SECONDS = "%d %b %Y", "%d %b %Y %H:%M", "%d %b %Y %H:%M:%S"
OFFSET = "+01:00"
TABLE_FORMAT = "DD MMM YYYY HH:mm:ss"  # the same for every viewer: 'localized' may swap day and month
NO_ZONE = "In UTC: the browser reported no known time zone"


def format_time(at: datetime, pattern: str = MINUTES) -> str:
    """'24 Nov 2026 06:01 CET' in the viewer's time zone; in UTC, and labelled so, if that is unknown."""
    return _format(at, pattern, _viewer_zone() or UTC)


def format_utc(at: datetime, pattern: str = MINUTES) -> str:
    """'24 Nov 2026 05:01 UTC', for text that is read in any time zone."""
    return _format(at, pattern, UTC)


def time_html(at: datetime, pattern: str = MINUTES) -> str:
    """The same as `format_time`, as markup that shows the UTC time on hover."""
    utc = format_utc(at, MINUTES if pattern == DAYS else pattern)
    return f'<time title="{text(utc)}">{text(format_time(at, pattern))}</time>'


def utc_help(**times: datetime | None) -> str:
    """A help text: 'In UTC: made 24 Nov 2026 05:01, until 1 Dec 2026 05:01'; unknown times are left out."""
    entries = [f"{name.replace('_', ' ')} {at.astimezone(UTC):{MINUTES}}" for name, at in times.items() if at]
    return f"In UTC: {', '.join(entries)}"


def in_viewer_zone(at: datetime) -> datetime:
    """The same time in the viewer's time zone, for an axis."""
    return at.astimezone(_viewer_zone() or UTC)


def zone_name() -> str:
    """The viewer's time zone for a column or an axis that formats its own times."""
    return str(_viewer_zone() or "UTC")


def time_column(title: str, times: Iterable[datetime], width_px: int | None = None) -> ColumnConfig:
    """A table column for these times; its help names the time zone and the offset from UTC."""
    zone = _viewer_zone()
    offsets = sorted({f"UTC{at.astimezone(zone).isoformat()[-len(OFFSET) :]}" for at in times})
    zone_help = f"In your time zone, {zone} ({' or '.join(offsets)})"
    return st.column_config.DatetimeColumn(
        title, format=TABLE_FORMAT, timezone=zone_name(), width=width_px, help=zone_help if zone else NO_ZONE
    )


def _format(at: datetime, pattern: str, zone: tzinfo) -> str:
    local_time = at.astimezone(zone)
    zone_label = f"{local_time:%Z}"
    zone_label = f"UTC{zone_label}" if zone_label[0] in "+-" else zone_label  # a zone without an abbreviation
    return f"{local_time:{pattern}}" if pattern == DAYS else f"{local_time:{pattern}} {zone_label}"


def _viewer_zone() -> ZoneInfo | None:
    """None if the browser reports no time zone, or an unknown one."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ZoneInfoNotFoundError, ValueError, OSError):  # unknown, malformed, or the name of a folder
        return None
