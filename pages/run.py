"""Run: one run whole: what was asked, what happened, what was measured, and the log that proves it."""

from __future__ import annotations

import streamlit as st

from reports.run_report import report_on
from web import charts, places
from web.actions import is_operator
from web.context import services
from web.markup import markdown_text
from web.runs import provenance_panel, run_page
from web.runs.declare_load import declare_load
from web.runs.workload_panel import workload_progress
from web.visible import visible_run, visible_runs

run_id = next(iter(st.query_params.get_all("run")), "")
run = visible_run(run_id) if run_id else None
if run is None and not run_id and not is_operator():
    run = next(iter(visible_runs(newest=1)), None)
if run is None:
    st.warning(
        f"No run has the id {markdown_text(run_id)}." if run_id else "The address names no run: `/run?run=<id>`."
    )
    if is_operator():
        st.page_link(places.RUNS, label="All runs")
    st.stop()

(report,) = report_on(services().store, [run])
run_page.header(report)
run_page.actions(run)
run_page.cause(run)
declare_load(run)
workload_progress([run])
run_page.numbers(report)
if report.windows:
    charts.over_time([report])
left, right = st.columns([1, 1])
with left:
    run_page.timeline(run)
    run_page.requests(report)
with right:
    run_page.configuration(run)
    provenance_panel.provenance(run)
    provenance_panel.reproduce(run)
run_page.log(run)
