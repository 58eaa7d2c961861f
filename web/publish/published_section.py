"""The section of Compare with tables for publication."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from reports.arms.accuracy import AccuracyRow
from reports.arms.arm_metrics import ArmMetrics
from reports.arms.comparison import ComparisonReport
from reports.arms.published_table import published_tables
from storage.queries.load_queries import outcomes
from storage.queries.run_data import Queryable
from web.publish.published_text import FORMATS, DifferenceStyle, as_html
from web.url_state import choose_one, url_expander

FORMAT_TITLES = {"markdown": "Markdown", "html": "HTML", "csv": "CSV", "latex": "LaTeX"}
STYLE_TITLES = {DifferenceStyle.PERCENT.value: "in per cent", DifferenceStyle.RATIO.value: "as ratios"}
WIDTH_PX = 160


def published_section(
    store: Queryable, report: ComparisonReport, metrics: ArmMetrics, accuracies: Sequence[AccuracyRow]
) -> None:
    """Show the tables and their text in the chosen format, ready to copy."""
    section = url_expander("Tables to publish", "publish", "compare")
    if not section.open:  # each of its rows is a comparison of its own
        return
    run_ids = [run.run_id for arm in report.arms for run in arm.runs]
    tables = published_tables(report, metrics, outcomes(store, run_ids), accuracies)
    with section:
        if not tables:
            st.caption("None of these runs has a number to publish yet.")
            return
        with st.container(horizontal=True):
            format_name = choose_one("Format", "table_format", "compare", FORMAT_TITLES, "markdown", WIDTH_PX)
            style = choose_one("Differences", "table_differences", "compare", STYLE_TITLES, "percent", WIDTH_PX)
        st.html(as_html(tables, DifferenceStyle(style)))
        st.code(FORMATS[format_name](tables, DifferenceStyle(style)), language=None, height=240)
