"""A moment is told where the viewer is, with the year, and in UTC on hover; in UTC where no time zone is known."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from web import times

WINTER = datetime(2026, 12, 31, 23, 30, 5, tzinfo=UTC)
SUMMER = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)


def told_by(zone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the browser has it, of which Streamlit tells us in a script that a page runs."""
    monkeypatch.setattr("streamlit.context", SimpleNamespace(timezone=zone))


@pytest.mark.parametrize(
    ("zone", "minutes", "summer", "day"),
    [
        ("Europe/Berlin", "01 Jan 2027 00:30 CET", "01 Jul 2026 14:00:00 CEST", "01 Jan 2027"),
        ("America/New_York", "31 Dec 2026 18:30 EST", "01 Jul 2026 08:00:00 EDT", "31 Dec 2026"),
        ("Asia/Kathmandu", "01 Jan 2027 05:15 UTC+0545", "01 Jul 2026 17:45:00 UTC+0545", "01 Jan 2027"),
        ("America/Sao_Paulo", "31 Dec 2026 20:30 UTC-03", "01 Jul 2026 09:00:00 UTC-03", "31 Dec 2026"),
        ("UTC", "31 Dec 2026 23:30 UTC", "01 Jul 2026 12:00:00 UTC", "31 Dec 2026"),
        *(
            (none, "31 Dec 2026 23:30 UTC", "01 Jul 2026 12:00:00 UTC", "31 Dec 2026")
            for none in (None, "", "Etc/Unknown", "Europe", "../../etc/passwd", "/etc/passwd", "a\0b", "x" * 5000)
        ),
    ],
)
def test_a_moment_where_the_viewer_is(
    zone: str | None, minutes: str, summer: str, day: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_by(zone, monkeypatch)
    assert times.format_time(WINTER) == minutes
    assert times.format_time(SUMMER, times.SECONDS) == summer
    assert times.format_time(WINTER, times.DAYS) == day
    assert times.time_html(WINTER) == f'<time title="31 Dec 2026 23:30 UTC">{minutes}</time>'
    assert times.time_html(WINTER, times.DAYS) == f'<time title="31 Dec 2026 23:30 UTC">{day}</time>'
    assert times.format_utc(WINTER, times.SECONDS) == "31 Dec 2026 23:30:05 UTC"
    assert times.in_viewer_zone(SUMMER) == SUMMER


def test_a_help_tells_what_is_known_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    told_by("Europe/Berlin", monkeypatch)
    local = times.in_viewer_zone(WINTER)
    assert times.utc_help(made=local, last_used=None, gone_after=SUMMER) == (
        "In UTC: made 31 Dec 2026 23:30, gone after 01 Jul 2026 12:00"
    )


@pytest.mark.parametrize(
    ("zone", "name", "help_text"),
    [
        ("Europe/Berlin", "Europe/Berlin", "In your time zone, Europe/Berlin (UTC+01:00 or UTC+02:00)"),
        ("America/Sao_Paulo", "America/Sao_Paulo", "In your time zone, America/Sao_Paulo (UTC-03:00)"),
        ("Nowhere/Land", "UTC", times.NO_ZONE),
    ],
)
def test_a_column_says_which_zone_it_is_in(
    zone: str, name: str, help_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_by(zone, monkeypatch)
    column: Any = times.time_column("Started", [WINTER, SUMMER])
    assert (column["label"], column["help"]) == ("Started", help_text)
    assert column["type_config"]["timezone"] == name
    assert "YYYY" in column["type_config"]["format"]
