"""'Show the SQL': the statements behind a page's numbers, as they were asked, to be run and changed on the SQL page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import streamlit as st

from reports.runs.run_report import PEAK_WINDOW_S
from storage.ask import queries
from storage.ask.literals import with_values
from web import places
from web.actions import is_member


class Shown(NamedTuple):
    """One statement and what it answers."""

    title: str
    sql: str


class _Listener:
    """Stands where the store does and notes what it would have been asked; the answer is always empty."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        self.heard.append(with_values(sql, params or {}))
        return pa.table({})


def statements(run_ids: Sequence[str]) -> list[Shown]:
    """The very statements that give the numbers of Compare and Run for these runs."""
    listener = _Listener()
    queries.windows(listener, run_ids, PEAK_WINDOW_S)
    queries.acceptance(listener, run_ids)
    queries.request_totals(listener, run_ids)
    titles = [
        f"Windows of {PEAK_WINDOW_S:g} s: over those that are 'active', decode_tps has its p99 (peak), its median "
        "weighted by dt_s (typical) and its p10 (floor)",
        "Acceptance over the whole run",
        "Requests and time to first token",
    ]
    return [Shown(title, sql) for title, sql in zip(titles, listener.heard, strict=True)]


def show_the_sql(run_ids: Sequence[str]) -> None:
    """A popover with the statements; for the operator, who alone may run them."""
    if not is_member():
        return
    with st.popover("Show the SQL", icon=":material/code:"):
        for shown in statements(run_ids):
            st.markdown(f"**{shown.title}**")
            st.code(shown.sql, language="sql", wrap_lines=True)
            st.page_link(places.SQL, label="Open on the SQL page", query_params={"sql": shown.sql})
