"""The Compare page: which configuration is faster, by how much, why, and whether the runs are comparable."""

from __future__ import annotations

import streamlit as st

from reports.arms.collapsed_arms import collapsed_arms
from reports.arms.comparison import arm_names_by_run
from storage.queries.concurrency import query_pool
from web.actions import is_member
from web.compare.answer.accuracy_table import accuracy_section
from web.compare.answer.fidelity_section import fidelity_section
from web.compare.answer.report_notes import report_notes
from web.compare.arms.adopt import adopted_notes
from web.compare.arms.arms_head import arms_and_selection, show_arms
from web.compare.arms.config_table import config_table
from web.compare.arms.more_repeats import offer_more_repeats
from web.compare.arms.repeats_panel import (
    measure_panel,
    offer_repeats,
    settings_panel,
    show_earlier,
)
from web.compare.arms.split_words import split_notes
from web.compare.cached_reports import evidence_on, reports_on
from web.compare.compatibility_table import compatibility_section
from web.compare.page_actions import show_compare_actions
from web.compare.run_tiles import evidence_table
from web.compare.server_rows import server_latencies
from web.compare.sheet import all_numbers, colors_of, decision_sheet, in_arm_color, numbers_of_arms
from web.compare.sources.published import published_group
from web.compare.sources.tool_results import tool_results_section
from web.compare.url_params import compare_runs, options_from_url
from web.compare.viewpoints.viewpoint_section import viewpoint_section
from web.fleet import away_ids, away_runs, link_to_home_pages, newest_fleet_runs, store_for_runs
from web.live.component import show_run_charts
from web.loop_words import loop_notes
from web.machines.machine_titles import machine_titles
from web.markup import markdown_text
from web.page_head import page_head
from web.page_paths import show_title
from web.picker import no_runs_yet, proposed_runs, sync_address
from web.publish.published_section import published_section
from web.runs.page.over_time import has_charts
from web.url_state import url_expander
from web.visibility import visible_runs

MAX_PICKER_RUNS = 200
SPEED_CHARTS = ("decode", "tokens", "steps")
MAX_RUNS = 24  # runs: eight arms of three starts each

runs = visible_runs(MAX_PICKER_RUNS, st.query_params.get_all("run"))
if away := away_runs(
    st.query_params.get_all("run")
):  # if any run is of another machine, those of all machines are offered
    known_ids = {run.id for run in runs}
    other_runs = {run.id: run for run in [*away, *newest_fleet_runs(MAX_PICKER_RUNS)] if run.id not in known_ids}
    runs = [*runs, *other_runs.values()]
# Runs without speculation come first: they are the baseline for speculation.
default = [run.id for run in sorted(proposed_runs(runs), key=lambda run: run.config.speculative is not None)]
page_row = st.container()  # filled last: its actions depend on the runs selected below
head, picked = arms_and_selection(runs, default[:MAX_RUNS], MAX_RUNS)
sync_address(picked)
if len(picked.runs) < 2:
    if runs or not is_member():
        st.info("Pick two or more runs. The first is the baseline that the others are compared with.")
    else:
        no_runs_yet("This page compares two or more runs: which is faster, by how much, and why.")
    compatibility_section()
    published_group()
    with page_row, page_head("Compare"):
        pass
    st.stop()

options, problems = options_from_url()
store = store_for_runs(picked.runs, with_earlier=True)
with query_pool() as pool:
    report_query = pool.submit(reports_on, store, picked.runs)
    report, not_shared = compare_runs(store, picked.runs, options)
for problem in [*problems, *not_shared]:
    st.warning(markdown_text(problem))
ids = [run.id for run in picked.runs]
show_title([arm.name for arm in report.arms], "Compare", " vs ")
if not report.arms:
    st.info("This link leaves out every run, so there is nothing to compare.")
    st.stop()
colors = colors_of(report, picked.runs)
reports = [in_arm_color(run_report, report, colors) for run_report in report_query.result()]
collapsed = collapsed_arms(report.arms, reports)
with page_row, page_head("Compare"):
    show_compare_actions(report, picked.runs, options)
show_arms(head.arms, report, colors, ids, collapsed)
with head.measure:
    measure_panel(report)


def show_notes() -> None:
    for note in loop_notes(report.arms, collapsed):
        st.warning(markdown_text(note), icon=":material/loop:")
    for note in report_notes(report):
        st.caption(markdown_text(note))
    adopted_notes(picked.runs)


if report.answers:
    decision_sheet(report, colors, show_notes)
    show_earlier(report)
else:
    st.info("These runs all have the same configuration. Pick a run with another one to compare them with.")
    show_notes()
settings_panel(report, options, {run.id: run.name for run in picked.runs})
if ids_away := away_ids(picked.runs):
    link_to_home_pages([run for run in picked.runs if run.id in ids_away])
elif is_member():
    offer_repeats(report, picked.runs)
    offer_more_repeats(report)
tool_results_section(store, report.arms, colors, is_open=not any(answer.is_ranked for answer in report.answers))
numbers = numbers_of_arms(store, report, reports)
all_numbers(store, report, numbers, colors)
accuracies = accuracy_section(store, report, colors)
fidelity_section(report, picked.runs, colors)
published_section(store, report, numbers, accuracies)
server_latencies(store, report.arms, colors)
viewpoint_section(report, picked.runs, colors)
st.subheader("Configuration differences")
st.html(config_table(report.arms, colors))
if apart := split_notes(report.arms):
    with url_expander("Why these are separate arms", "apart", "compare"):
        for note in apart:
            st.caption(markdown_text(note))
with url_expander("Evidence for the numbers, run by run", "evidence", "compare"):
    st.html(evidence_table(reports, evidence_on(store, picked.runs), machine_titles(store)))
if has_charts(store, reports):
    st.subheader("Over time since ready")
    run_colors = {run_report.run.id: run_report.run.color for run_report in reports}
    show_run_charts(picked.runs, run_colors, arm_names_by_run(report.arms, picked.runs), SPEED_CHARTS)
compatibility_section()
published_group()
