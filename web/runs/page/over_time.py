"""The run over time: its charts, or why there is none."""

from __future__ import annotations

import numpy as np
import streamlit as st

from domain import RunState
from reports.runs.run_report import RunReport
from storage.ask.queries import Asked
from web.live.component import course_plot
from web.live.live_series import courses_of
from web.live.point_reader import Moments, PointReader


def over_time(asked: Asked, report: RunReport) -> None:
    """Charts that would all prove empty are not begun: as they went, what is below them would jump."""
    run = report.run
    if run.state is RunState.QUEUED:
        return
    if not run.state.is_final or report.windows or _has_points(asked, run.id):
        st.subheader("Over time since ready")
        course_plot([run], {run.id: run.color})
    else:
        st.subheader("Over time")
        st.caption("Not known: no sample of its server, its host or its GPU was stored.")


def _has_points(asked: Asked, run_id: str) -> bool:
    points = PointReader().read(asked, {run_id: Moments()})[run_id]
    return any(np.isfinite(course.v).any() for course in courses_of(points).values())
