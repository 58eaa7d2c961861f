"""Compare: which configuration is faster, by how much, because of what, and whether that may be said."""

from __future__ import annotations

import streamlit as st

from web.actions import is_member
from web.compare.answer.report_notes import report_notes
from web.compare.arms.adopt import adopt_form, adopted_notes
from web.compare.arms.arms_head import head_and_runs, show_arms
from web.compare.arms.config_table import config_table
from web.compare.arms.more_repeats import offer_more_repeats
from web.compare.arms.repeats_panel import (
    margin_input,
    objective_picker,
    offer_repeats,
    settings_panel,
    show_earlier,
    workload_picker,
)
from web.compare.asking import address_of_asking, answered, asked_by_address
from web.compare.comparison import evidence_table
from web.compare.compatibility_table import compatibility_section
from web.compare.kept_reports import evidence_on, reports_on
from web.compare.server_rows import server_latencies
from web.compare.sheet import all_numbers, as_its_arm, colors_of, decision_sheet
from web.compare.sources.published import published_group
from web.compare.sources.shown_sql import show_the_sql
from web.compare.viewpoints.viewpoint_section import viewpoint_section
from web.fleet import asked_about, away_ids, away_runs, link_to_others, newest_of_all
from web.kept import fold
from web.live.component import course_plot
from web.machines.machine_titles import machine_titles
from web.markup import markdown_text
from web.picker import newest_together, nothing_yet, sync_address
from web.places import show_title
from web.replay.choice import replay_link
from web.report.button import report_button
from web.sharing.bundle_button import bundle_button
from web.sharing.share_dialog import share_button
from web.visible import visible_runs

NEWEST = 200
SPEED_CHARTS = ("decode", "tokens", "steps")
MOST = 24  # runs: eight arms of three starts each

runs = visible_runs(NEWEST, st.query_params.get_all("run"))
if away := away_runs(st.query_params.get_all("run")):  # where some of another machine are asked for, all are offered
    known = {run.id for run in runs}
    others = {run.id: run for run in [*away, *newest_of_all(NEWEST)] if run.id not in known}
    runs = [*runs, *others.values()]
# What does not speculate comes first: it is the baseline that speculation is held against.
default = [run.id for run in sorted(newest_together(runs), key=lambda run: run.config.speculative is not None)]
head, picked = head_and_runs(runs, default[:MOST], MOST)
sync_address(picked)
if len(picked.runs) < 2:
    if runs or not is_member():
        st.info("Pick two or more runs. The first is the baseline the others are held against.")
    else:
        nothing_yet("Two or more runs are compared here: which is faster, by how much, and why.")
    compatibility_section()
    published_group()
    st.stop()

asking, problems = asked_by_address()
asked = asked_about(picked.runs, with_earlier=True)
report, not_shared = answered(asked, picked.runs, asking)
for problem in [*problems, *not_shared]:
    st.warning(markdown_text(problem))
ids = [run.id for run in picked.runs]
show_title([arm.name for arm in report.arms], "Compare", " vs ")
if not report.arms:
    st.info("The address leaves out every run: nothing is left to compare.")
    st.stop()
colors = colors_of(report, picked.runs)
show_arms(head, report, colors, ids)
for note in report_notes(report):
    st.caption(markdown_text(note))
adopted_notes(picked.runs)
if report.answers:
    decision_sheet(report, asking, colors)
    show_earlier(report)
else:
    st.info("These runs repeat one configuration: pick one of another to compare them with.")
with st.container(horizontal=True, vertical_alignment="bottom"):
    objective_picker(report)
    workload_picker(report)
    margin_input(report)
    settings_panel(report, asking, {run.id: run.name for run in picked.runs})
    if not away_ids(picked.runs):
        share_button(picked.runs, "compare", address_of_asking())
        bundle_button(picked.runs, "compare")
        report_button(picked.runs, "compare", asking)
        adopt_form(report.arms, picked.runs)
        show_the_sql(ids)
    replay_link([arm.runs[0].run_id for arm in report.arms])
if ids_away := away_ids(picked.runs):
    link_to_others([run for run in picked.runs if run.id in ids_away])
elif is_member():
    offer_repeats(report, picked.runs)
    offer_more_repeats(report)
reports = [as_its_arm(one, report, colors) for one in reports_on(asked, picked.runs)]
all_numbers(asked, report, reports, colors)
server_latencies(asked, report.arms, colors)
viewpoint_section(report, asking, picked.runs, colors)
st.subheader("What differs in the configuration")
st.html(config_table(report.arms, colors))
with fold("What the numbers rest on, run by run", "evidence", "compare"):
    st.html(evidence_table(reports, evidence_on(asked, picked.runs), machine_titles(asked)))
st.subheader("Over time since ready")
course_plot(picked.runs, {one.run.id: one.run.color for one in reports}, SPEED_CHARTS)
compatibility_section()
published_group()
