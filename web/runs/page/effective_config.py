"""The Run page's configuration: what was asked, and beside it what the server says it started with."""

from __future__ import annotations

import streamlit as st

from analysis.runs.effective import Row
from domain import Run
from reports.runs.effective_config import effective_config
from web import markup
from web.fleet import asked_about
from web.theme import DASH

NOT_SAID = "the log does not say it"
NOT_ASKED = "not stated in the command"


def asked_and_effective(run: Run) -> None:
    """One table; a row whose two values differ is marked."""
    rows, was_logged = effective_config(asked_about([run]), run)
    if was_logged:
        head, body = ["field", "as asked", "as the server says it started"], [_cells(row) for row in rows]
    else:
        head, body = ["field", "as asked"], [_cells(row)[:2] for row in rows]
    st.html(markup.table(head, body, wraps=True))
    if not was_logged:
        st.caption("Its log has said nothing of how it started.")


def _cells(row: Row) -> list[str]:
    effective = _value(row.field, row.effective, NOT_SAID)
    if row.line is not None:
        effective += f" <small>line {row.line}</small>"
    if row.differs:
        effective = f'<strong class="pw-doubt">{effective} (not as asked)</strong>'
    return [markup.field(row.field), _value(row.field, row.asked, NOT_ASKED), effective]


def _value(field: str, value: object, why: str) -> str:
    return markup.number(DASH, why=why) if value is None else markup.setting(field, value)
