"""The Run page: one run's configuration, events, measurements and log."""

from __future__ import annotations

import streamlit as st

from reports.arms.facts import facts_of
from web import page_paths
from web.actions import is_member
from web.compare.cached_reports import log_speeds_on, reports_on
from web.compare.server_latency import server_latency_table
from web.fleet import away_ids, store_for_runs
from web.loads.panels.declare_load import show_declare_load
from web.loads.panels.load_panel import show_load_panel
from web.loads.panels.load_results import show_load_results
from web.loads.panels.recorder_panel import show_recorder_panel
from web.loads.panels.tool_result_status import load_ends, show_import_notes, show_refused_results
from web.loads.panels.workload_panel import show_workload_progress
from web.markup import markdown_text
from web.page_paths import show_title
from web.run_notes.people_panel import people_panel
from web.runs.page import provenance_panel, run_page
from web.runs.page.agent_offer import agent_offer
from web.runs.page.agent_sessions import show_agent_sessions
from web.runs.page.node_panel import node_panel
from web.runs.page.other_nodes import other_nodes
from web.runs.page.over_time import over_time
from web.runs.page.physics_panel import physics_panel
from web.runs.page.server_log import server_log
from web.visibility import visible_run, visible_runs

run_id = next(iter(st.query_params.get_all("run")), "")
run = visible_run(run_id) if run_id else None
if run is None and not run_id and not is_member():
    run = next(iter(visible_runs(newest=1)), None)
if run is None:
    st.warning(
        f"No run has the id {markdown_text(run_id)}." if run_id else "This address names no run: use `/run?run=<id>`."
    )
    if is_member():
        st.page_link(page_paths.RUNS, label="All runs")
    st.stop()

show_title([run.name], "Run")
store = store_for_runs([run])
(report,) = reports_on(store, [run])
(facts,) = facts_of(store, [run], log_speeds_of=log_speeds_on)
run_page.head(report.run)
run_page.header(report)
run_page.cause(run)
run_page.forced_acceptance(facts)
if not away_ids([run]):
    people_panel(run)
    show_declare_load(run)
    show_load_panel(run)
    show_recorder_panel(run)
    show_workload_progress([run])
run_page.numbers(report, facts)
load_events = load_ends(run)
show_refused_results(load_events)
show_load_results(run)
show_import_notes(load_events)
show_agent_sessions(run)
server_latency_table(store, run)
over_time(store, report)
other_nodes(run)
agent_offer(run)
node_panel(run)
physics_panel(report, facts)
left_column, right_column = st.columns([1, 1])
with left_column:
    run_page.configuration(run)
with right_column:
    run_page.timeline(run)
run_page.requests(report)
provenance_panel.provenance(run)
provenance_panel.reproduce(run)
server_log(run)
