"""The Run page's configuration: what was asked, and beside it what the server says it started with."""

from __future__ import annotations

import streamlit as st

from analysis.config_diff import flatten
from analysis.effective import Row, Told, effective_rows
from domain import Run
from storage.ask import queries
from web import markup
from web.context import services
from web.theme import DASH

NOT_SAID = "the log does not say it"
NOT_ASKED = "not stated in the command"


def asked_and_effective(run: Run) -> None:
    """One table; a row whose two values differ is marked."""
    asked = flatten(run.config.model_dump(mode="json", exclude={"argv"}))
    told = [Told(*row) for row in queries.startup_facts(services().store, run.id)]
    rows = effective_rows(asked, run.config.engine, told)
    if told:
        head, body = ["field", "as asked", "as the server says it started"], [_cells(row) for row in rows]
    else:
        head, body = ["field", "as asked"], [_cells(row)[:2] for row in rows]
    st.html(markup.table(head, body, wraps=True))
    if not told:
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
