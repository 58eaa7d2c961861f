"""Compare: which configuration is faster, by how much, because of what, and whether that may be said."""

from __future__ import annotations

import streamlit as st

from reports.comparison import comparison_of
from reports.evidence import evidence_of
from reports.run_report import report_on
from web import charts
from web.actions import is_operator
from web.compare.asking import asked_by_address
from web.compare.comparison import evidence_table
from web.compare.config_table import config_table
from web.compare.more_repeats import offer_more_repeats
from web.compare.published import published_group
from web.compare.repeats_panel import baseline_picker, objective_picker, offer_repeats, settings_panel
from web.compare.sheet import all_numbers, arm_line, as_its_arm, colors_of, decision_sheet
from web.compare.shown_sql import show_the_sql
from web.context import services
from web.markup import markdown_text
from web.picker import nothing_yet, pick_runs, tell_unknown
from web.sharing.bundle_button import bundle_button
from web.sharing.share_dialog import share_button
from web.visible import visible_runs

NEWEST = 200
MOST = 24  # runs: eight arms of three starts each

runs = visible_runs(NEWEST)
finished = sorted((run for run in runs if run.state == "finished"), key=lambda run: run.started_at or run.created_at)
last = [run for run in finished if finished[-1].batch_id and run.batch_id == finished[-1].batch_id]
default = [run.id for run in (last if len(last) > 1 else finished[-3:])]
prompt = "Runs to compare; the first is the baseline"
picked = pick_runs(runs, default[:MOST], prompt, key="compare-runs", most=MOST)
tell_unknown(picked)
if len(picked.runs) < 2:
    if runs or not is_operator():
        st.info("Pick two or more runs. The first is the baseline the others are held against.")
    else:
        nothing_yet()
    published_group()
    st.stop()

asking, problems = asked_by_address()
for problem in problems:
    st.warning(markdown_text(problem))
ids = [run.id for run in picked.runs]
report = comparison_of(services().store, picked.runs, asking)
if not report.arms:
    st.info("The address leaves out every run: nothing is left to compare.")
    st.stop()
colors = colors_of(report, picked.runs)
st.html(arm_line(report, colors))
if report.answers:
    decision_sheet(report, asking, colors)
else:
    st.info("These runs repeat one configuration: pick one of another to compare them with.")
with st.container(horizontal=True, vertical_alignment="bottom"):
    objective_picker(report)
    baseline_picker(report, ids)
    settings_panel(report, asking, {run.id: run.name for run in picked.runs})
    share_button(picked.runs, "compare")
    bundle_button(picked.runs, "compare")
    show_the_sql(ids)
if is_operator():
    offer_repeats(report, ids)
    offer_more_repeats(report)
reports = [as_its_arm(one, report, colors) for one in report_on(services().store, picked.runs)]
all_numbers(report, reports, colors)
st.subheader("What differs in the configuration")
st.html(config_table(report.arms, colors))
with st.expander("What the numbers rest on, run by run"):
    st.html(evidence_table(reports, evidence_of(services().store, picked.runs)))
st.subheader("Over time since ready")
charts.over_time(reports)
published_group()
