"""Compare's section of rankings by viewpoint; its data is queried when the section is open."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from reports.arms.comparison import ComparisonReport
from reports.arms.load_curve import load_curve
from reports.arms.viewpoints import rankings, viewpoint_inputs
from web.compare.answer.overview import Colors
from web.compare.viewpoints.frontier_chart import frontier_chart
from web.compare.viewpoints.frontier_plots import plots
from web.compare.viewpoints.viewpoint_table import ABOUT, viewpoint_lines, viewpoint_table
from web.context import services
from web.url_state import url_expander


def viewpoint_section(report: ComparisonReport, runs: Sequence[Run], colors: Colors) -> None:
    """Show the section; nothing for a single arm."""
    if not report.answers:
        return
    section = url_expander("Best by viewpoint", "viewpoints", "compare")
    if not section.open:
        return
    data = viewpoint_inputs(services().store, report, runs, services().settings.prices_path)
    arms = {arm.id: arm.name for arm in report.arms}
    ranked = rankings(data)
    with section:
        st.caption(ABOUT)
        st.html(viewpoint_table(viewpoint_lines(ranked, arms)))
        frontier_chart(plots(ranked, load_curve(data)), arms, colors)
