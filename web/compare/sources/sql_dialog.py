"""'Show the SQL': the exact statements behind a page's numbers, to run and change on the SQL page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import streamlit as st

from reports.runs.run_report import PEAK_WINDOW_S
from storage.queries import run_data
from storage.queries.literals import with_values
from web import page_paths


class NumberStatement(NamedTuple):
    """One statement and the title of its numbers."""

    title: str
    sql: str


class _StatementRecorder:
    """A stand-in for the store that records the statements; every result is empty."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        self.statements.append(with_values(sql, params or {}))
        return pa.table({})


def statements(run_ids: Sequence[str]) -> list[NumberStatement]:
    """Return the exact statements behind the numbers of Compare and Run for these runs."""
    recorder = _StatementRecorder()
    run_data.windows(recorder, run_ids, PEAK_WINDOW_S)
    run_data.acceptance(recorder, run_ids)
    run_data.request_totals(recorder, run_ids)
    titles = [
        f"Windows of {PEAK_WINDOW_S:g} s: over the 'active' ones, the p99 of decode_tps is the peak, its median "
        "weighted by dt_s the typical speed and its p10 the floor",
        "Acceptance over the whole run",
        "Requests and time to first token",
    ]
    return [NumberStatement(title, sql) for title, sql in zip(titles, recorder.statements, strict=True)]


@st.dialog("The SQL behind these numbers", width="large")
def show_sql_dialog(run_ids: Sequence[str]) -> None:
    """Show the statements, for members, who may run them."""
    for statement in statements(run_ids):
        st.markdown(f"**{statement.title}**")
        st.code(statement.sql, language="sql", wrap_lines=True)
        st.page_link(page_paths.SQL, label="Open on the SQL page", query_params={"sql": statement.sql})
