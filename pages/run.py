"""Run: one run whole: what was asked, what happened, what was measured, and the log that proves it."""

from __future__ import annotations

import streamlit as st

from reports.arms.facts import facts_of
from web import places
from web.actions import is_member
from web.compare.kept_reports import reports_on, windows_on
from web.fleet import asked_about, away_ids
from web.markup import markdown_text
from web.places import show_title
from web.runs.loads.declare_load import declare_load
from web.runs.loads.handed_in import load_ends, refused_results
from web.runs.loads.load_panel import load_panel
from web.runs.loads.load_results import load_results
from web.runs.loads.recorder_panel import recorder_panel
from web.runs.loads.workload_panel import workload_progress
from web.runs.page import provenance_panel, run_page
from web.runs.page.agent_offer import agent_offer
from web.runs.page.node_panel import node_panel
from web.runs.page.over_time import over_time
from web.runs.page.physics_panel import physics_panel
from web.runs.page.server_latency import server_latency_table
from web.runs.page.server_log import server_log
from web.runs.remarks.people_panel import people_panel
from web.visible import visible_run, visible_runs

run_id = next(iter(st.query_params.get_all("run")), "")
run = visible_run(run_id) if run_id else None
if run is None and not run_id and not is_member():
    run = next(iter(visible_runs(newest=1)), None)
if run is None:
    st.warning(
        f"No run has the id {markdown_text(run_id)}." if run_id else "The address names no run: `/run?run=<id>`."
    )
    if is_member():
        st.page_link(places.RUNS, label="All runs")
    st.stop()

show_title([run.name], "Run")
asked = asked_about([run])
(report,) = reports_on(asked, [run])
(facts,) = facts_of(asked, [run], windows_of=windows_on)
run_page.header(report)
run_page.actions(run)
run_page.cause(run)
if not away_ids([run]):
    people_panel(run)
    declare_load(run)
    load_panel(run)
    recorder_panel(run)
    workload_progress([run])
run_page.numbers(report, facts)
refused_results(load_ends(run))
load_results(run)
server_latency_table(asked, run)
over_time(asked, report)
agent_offer(run)
node_panel(run)
physics_panel(report, facts)
left, right = st.columns([1, 1])
with left:
    run_page.timeline(run)
    run_page.requests(report)
with right:
    run_page.configuration(run)
    provenance_panel.provenance(run)
    provenance_panel.reproduce(run)
server_log(run)
