"""Compare: which run is faster, by which factor, and whether that may be said at all."""

from __future__ import annotations

import streamlit as st

from analysis.compare import compare
from reports.evidence import evidence_of
from reports.run_report import report_on
from web import charts
from web.actions import is_operator
from web.compare.comparison import config_table, number_table
from web.compare.published import published_group
from web.compare.shown_sql import show_the_sql
from web.compare.verdicts import verdicts
from web.context import services
from web.picker import nothing_yet, pick_runs, tell_unknown
from web.sharing.bundle_button import bundle_button
from web.sharing.share_dialog import share_button
from web.visible import visible_runs

NEWEST = 200

runs = visible_runs(NEWEST)
finished = sorted((run for run in runs if run.state == "finished"), key=lambda run: run.started_at or run.created_at)
picked = pick_runs(
    runs, [run.id for run in finished[-3:]], "Runs to compare; the first is the baseline", key="compare-runs"
)
tell_unknown(picked)
reports = report_on(services().store, picked.runs)

if len(reports) < 2:
    if runs or not is_operator():
        st.info("Pick two or more runs. The first is the baseline the others are held against.")
    else:
        nothing_yet()
    published_group()
    st.stop()

baseline, *others = reports
answers = [compare(baseline.subject, baseline.windows, other.subject, other.windows) for other in others]
st.html(verdicts(baseline, others, answers))
st.html(number_table(reports, {one.other for one in answers if one.ranked}, evidence_of(services().store, picked.runs)))
with st.container(horizontal=True):
    share_button(picked.runs, "compare")
    bundle_button(picked.runs, "compare")
    show_the_sql([run.id for run in picked.runs])
st.subheader("What differs in the configuration")
st.html(config_table(reports))
st.subheader("Over time since ready")
charts.over_time(reports)
published_group()
