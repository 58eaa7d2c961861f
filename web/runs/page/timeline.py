"""The timeline of a run's events as markup."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from domain import Run
from storage.queries import run_data
from web import markup
from web.theme import duration
from web.times import TimeToHtml, time_html

AFTERWARDS = timedelta(minutes=1)
MIN_SHOWN_S = 0.05  # less would be shown as "-0.0 s"


def timeline_table(run: Run, events: run_data.Events, write_time: TimeToHtml = time_html) -> str:
    """Return the events as markup, one row each, and how many are left out. write_time: formats a time."""
    rows = [[_event_time(run, row.ts, write_time), _event(row)] for row in without_repeats(events.rows)]
    left_out = f'<p class="pw-muted">{events.left_out:,} older or less important events are not shown.</p>'
    return markup.table(["since start", ""], rows, wraps=True) + (left_out if events.left_out else "")


def without_repeats(rows: Sequence[run_data.EventRow]) -> list[run_data.EventRow]:
    """Return the events without phases that a state repeats, and without consecutive repeats."""
    states = {row.text for row in rows if row.kind == "state"}
    events_shown = [row for row in rows if not (row.kind == "phase" and row.text in states)]
    return [
        row
        for previous, row in zip([None, *events_shown], events_shown, strict=False)
        if previous is None or previous.text != row.text
    ]


def _event_time(run: Run, ts: datetime, write_time: TimeToHtml) -> str:
    """The time since the start; the date for an event long after the end, such as an import."""
    if run.ended_at and ts > run.ended_at + AFTERWARDS:
        return write_time(ts)
    seconds = (ts - run.began_at).total_seconds()
    seconds = 0.0 if abs(seconds) < MIN_SHOWN_S else seconds
    return f"{seconds:.1f} s" if abs(seconds) < 60 else ("\u2212" if seconds < 0 else "") + duration(abs(seconds))


def _event(row: run_data.EventRow) -> str:
    return f'<span class="pw-mark-{markup.text(row.kind)}">{markup.text(row.text)}</span>'
