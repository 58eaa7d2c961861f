"""Compare's section on who is best by which viewpoint; what it needs is asked for when it is opened."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from reports.arms.comparison import Asking, ComparisonReport
from reports.arms.load_curve import load_curve
from reports.arms.viewpoints import known_of, rankings
from web.compare.answer.answer_cards import Colors
from web.compare.viewpoints.frontier_chart import frontier_chart
from web.compare.viewpoints.frontier_plots import plots
from web.compare.viewpoints.viewpoint_table import viewpoint_lines, viewpoint_table
from web.context import services
from web.kept import fold

ABOUT = (
    "Each viewpoint for itself: an arm is best where its starts tell it apart from every other one; else it is a tie. "
    "Watched and imported runs stand beside them and are not ranked."
)


def viewpoint_section(report: ComparisonReport, asking: Asking, runs: Sequence[Run], colors: Colors) -> None:
    """Nothing for a single arm."""
    if not report.answers:
        return
    section = fold("Best by viewpoint", "viewpoints", "compare")
    if not section.open:
        return
    known = known_of(services().store, report, runs, services().settings.prices_path, asking.declared)
    arms = {arm.id: arm.name for arm in report.arms}
    found = rankings(known)
    with section:
        st.caption(ABOUT)
        st.html(viewpoint_table(viewpoint_lines(found, arms)))
        frontier_chart(plots(found, load_curve(known)), arms, colors)
