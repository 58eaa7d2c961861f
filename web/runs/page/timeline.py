"""What happened to a run, as markup."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from domain import Run
from storage.ask import queries
from web import markup
from web.moments import WriteMoment, moment_html
from web.theme import duration

AFTERWARDS = timedelta(minutes=1)
LEAST_S = 0.05  # less would be written as "-0.0 s"


def timeline_table(run: Run, events: queries.Events, write: WriteMoment = moment_html) -> str:
    """The events as markup, a row each, and how many are not among them. `write`: how a moment is written."""
    rows = [[_moment(run, row.ts, write), _event(row)] for row in without_repeats(events.rows)]
    left_out = f'<p class="pw-muted">{events.left_out:,} older or less important events are not shown.</p>'
    return markup.table(["since start", ""], rows, wraps=True) + (left_out if events.left_out else "")


def without_repeats(rows: Sequence[queries.EventRow]) -> list[queries.EventRow]:
    """The events without phases that a state says again, and without repeats in a row."""
    states = {row.text for row in rows if row.kind == "state"}
    kept = [row for row in rows if not (row.kind == "phase" and row.text in states)]
    return [row for before, row in zip([None, *kept], kept, strict=False) if before is None or before.text != row.text]


def _moment(run: Run, ts: datetime, write: WriteMoment) -> str:
    """Since the start; of what came long after the end (an import) the date."""
    if run.ended_at and ts > run.ended_at + AFTERWARDS:
        return write(ts)
    seconds = (ts - (run.started_at or run.created_at)).total_seconds()
    seconds = 0.0 if abs(seconds) < LEAST_S else seconds
    return f"{seconds:.1f} s" if abs(seconds) < 60 else ("\u2212" if seconds < 0 else "") + duration(abs(seconds))


def _event(row: queries.EventRow) -> str:
    return f'<span class="pw-mark-{markup.text(row.kind)}">{markup.text(row.text)}</span>'
