"""The table of runs that have ended, and what can be done with a selection of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

import pandas as pd
import streamlit as st

from analysis.config_diff import as_started, chips
from reports.run_report import RunReport
from web import markup, places
from web.charts import ground
from web.theme import DASH, run_color
from web.words import why

COLUMNS = {
    "color": st.column_config.ImageColumn("", width=24),
    "name": st.column_config.TextColumn("Run", width=210),
    "typical": st.column_config.NumberColumn(
        "Typical, tok/s", format="%.1f", width=92, help="Median decode speed of the active windows"
    ),
    "peak": st.column_config.NumberColumn(
        "Peak, tok/s", format="%.1f", width=82, help="99th percentile of the active windows"
    ),
    "tokens_per_step": st.column_config.NumberColumn("Tokens/step", format="%.2f", width=82),
    "acceptance": st.column_config.NumberColumn(
        "Acceptance", format="%.2f", width=82, help="Tokens per verified draft, its own token included"
    ),
    "config": st.column_config.TextColumn("Configuration", width=230),
    "state": st.column_config.TextColumn("State", width=66),
    "when": st.column_config.DatetimeColumn("Started, UTC", format="D MMM HH:mm", width=100),
    "page": st.column_config.LinkColumn("Page", display_text="open", width=50),
    "why": st.column_config.TextColumn("What is missing, or how it ended", width="medium"),
}


def pick_from_table(reports: Sequence[RunReport]) -> None:
    """Show the runs; a selection of two or more can be compared, any can be laid under the live ones."""
    rows = pd.DataFrame([_row(one) for one in reports])
    chosen = st.dataframe(
        rows,
        hide_index=True,
        column_config=COLUMNS,
        on_select="rerun",
        selection_mode="multi-row",
        key="ended-runs",
        placeholder=DASH,
    )
    picked = [reports[i].run.id for i in chosen["selection"]["rows"]]
    with st.container(horizontal=True):
        if st.button("Compare the selected runs", disabled=len(picked) < 2):
            st.switch_page(places.COMPARE, query_params={"run": list(reversed(picked))})
        if st.button("Lay them under the live ones", disabled=not picked):
            st.switch_page(places.LIVE, query_params={"run": picked})


def _row(report: RunReport) -> dict[str, object]:
    run, said = report.run, report.summary
    return {
        "color": _square(run_color(run.color, ground())),
        "name": run.name,
        "config": " · ".join(chips(as_started(run.config.model_dump(), run.told), report.engine_title)),
        "typical": said.typical_tps,
        "peak": said.peak_tps,
        "tokens_per_step": said.factors.tokens_per_step if said.factors else None,
        "acceptance": report.acceptance.length,
        "state": str(run.state),
        "when": (run.started_at or run.created_at).astimezone(UTC),
        "page": f"run?run={run.id}",
        "why": run.cause or why(said.reason) or run.note or "",
    }


def _square(color: str) -> str:
    return markup.svg_url('width="16" height="16"', f'<rect width="16" height="16" rx="3" fill="{color}"/>')
