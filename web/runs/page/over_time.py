"""The Run page's charts over time, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from domain import RunState
from reports.runs.run_report import RunReport
from storage.queries.run_data import Queryable
from web.live.component import show_run_charts
from web.live.live_series import time_series_of
from web.live.point_reader import PointReader, StartTimes


def over_time(store: Queryable, report: RunReport) -> None:
    """Show the charts only if one has data: removing empty ones later would make the content below jump."""
    run = report.run
    if run.state is RunState.QUEUED:
        return
    if has_charts(store, [report]):
        st.subheader("Over time since ready")
        show_run_charts([run], {run.id: run.color}, {run.id: run.name})
    else:
        st.subheader("Over time")
        st.caption("Not known: no samples of the server, its host or its GPUs were stored.")


def has_charts(store: Queryable, reports: Sequence[RunReport]) -> bool:
    """Whether any of these runs has data to draw over time, or may still get some."""
    if any(not report.run.state.is_final or report.windows for report in reports):
        return True
    points = PointReader().read(store, {report.run.id: StartTimes() for report in reports})
    return any(np.isfinite(series.v).any() for tables in points.values() for series in time_series_of(tables).values())
