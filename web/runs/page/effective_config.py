"""The Run page's configuration table: requested settings beside those that the server reported at startup."""

from __future__ import annotations

import streamlit as st

from analysis.runs.effective_config import EffectiveRow
from domain import Run
from reports.runs.effective_config import effective_config
from web import markup
from web.fleet import store_for_runs
from web.theme import DASH

NOT_LOGGED = "the log does not state it"
NOT_IN_COMMAND = "not stated in the command"


def effective_config_table(run: Run) -> None:
    """Show one table; rows whose two values differ are marked."""
    rows, was_logged = effective_config(store_for_runs([run]), run)
    if was_logged:
        head, body = ["field", "requested", "reported by the server"], [_cells(row) for row in rows]
    else:
        stated = "stated" if run.kind == "imported" else "requested"
        head, body = ["field", stated], [_cells(row)[:2] for row in rows]
    st.html(markup.table(head, body, wraps=True))
    if not was_logged:
        st.caption("The log has not reported the effective settings.")


def _cells(row: EffectiveRow) -> list[str]:
    effective = _value(row.field, row.effective, NOT_LOGGED)
    if row.line is not None:
        effective += f" <small>line {row.line}</small>"
    if row.differs:
        effective = f'<strong class="pw-doubt">{effective} (not as requested)</strong>'
    return [markup.field(row.field), _value(row.field, row.requested, NOT_IN_COMMAND), effective]


def _value(field: str, value: object, reason: str) -> str:
    return markup.number(DASH, why=reason) if value is None else markup.setting(field, value)
