"""Moments as whoever looks reads them: in the time zone that the browser reports, with the year, and in UTC on hover.

What others read too (reports, files, the audit, the command line) is written by `utc_moment`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st
from streamlit.elements.lib.column_types import ColumnConfig

from web.markup import text

WriteMoment = Callable[[datetime], str]  # a moment as markup
DAYS, MINUTES, SECONDS = "%d %b %Y", "%d %b %Y %H:%M", "%d %b %Y %H:%M:%S"
OFFSET = "+01:00"
IN_TABLES = "DD MMM YYYY HH:mm:ss"  # of the same form for everybody: 'localized' turns day and month round
NO_ZONE = "In UTC: the browser names no time zone that is known here"


def moment(at: datetime, form: str = MINUTES) -> str:
    """'24 Nov 2026 06:01 CET', where the viewer is; in UTC where that is not known, as its words say."""
    return _words(at, form, _zone() or UTC)


def utc_moment(at: datetime, form: str = MINUTES) -> str:
    """'24 Nov 2026 05:01 UTC', for whoever may read it anywhere."""
    return _words(at, form, UTC)


def moment_html(at: datetime, form: str = MINUTES) -> str:
    """The same as `moment` as markup, which says on hover when that is in UTC."""
    return f'<time title="{text(utc_moment(at, MINUTES if form == DAYS else form))}">{text(moment(at, form))}</time>'


def in_utc(**moments: datetime | None) -> str:
    """A help text: 'In UTC: made 24 Nov 2026 05:01, until 1 Dec 2026 05:01', of those that are known."""
    words = [f"{name.replace('_', ' ')} {at.astimezone(UTC):{MINUTES}}" for name, at in moments.items() if at]
    return f"In UTC: {', '.join(words)}"


def there(at: datetime) -> datetime:
    """The same moment on the viewer's clock, for an axis."""
    return at.astimezone(_zone() or UTC)


def zone_name() -> str:
    """The viewer's time zone for a column or an axis, whose words others write."""
    return str(_zone() or "UTC")


def moment_column(title: str, moments: Iterable[datetime], width_px: int | None = None) -> ColumnConfig:
    """The column of a table for these moments; its help says in which time zone it is and how far that is from UTC."""
    zone = _zone()
    offsets = sorted({f"UTC{at.astimezone(zone).isoformat()[-len(OFFSET) :]}" for at in moments})
    known = f"In your time zone, {zone} ({' or '.join(offsets)})"
    return st.column_config.DatetimeColumn(
        title, format=IN_TABLES, timezone=zone_name(), width=width_px, help=known if zone else NO_ZONE
    )


def _words(at: datetime, form: str, zone: tzinfo) -> str:
    there = at.astimezone(zone)
    name = f"{there:%Z}"
    name = f"UTC{name}" if name[0] in "+-" else name  # where people have no name for their time, its offset stands
    return f"{there:{form}}" if form == DAYS else f"{there:{form}} {name}"


def _zone() -> ZoneInfo | None:
    """None where the browser reports none, or one that is not known here."""
    try:
        return ZoneInfo(st.context.timezone or "")
    except (ZoneInfoNotFoundError, ValueError, OSError):  # no such zone, no name of one, the name of a folder
        return None
