"""The Runs page: the welcome, live and queued runs, finished runs, and administration."""

from __future__ import annotations

import streamlit as st

from web import page_paths
from web.actions import is_operator
from web.compare.arms.adopt import adopted_section
from web.compare.sources.published import published_section
from web.fleet import choose_scope
from web.guided_demo.start import demo_section, show_first_demo
from web.guided_demo.welcome import WELCOME
from web.machines.lake_panel import lake_section
from web.machines.machine_list import machine_section
from web.machines.peer_panel import peer_section
from web.notifications.channel_panel import channel_section
from web.page_head import page_head
from web.proposal_panel import show_proposals
from web.runs.change_list import links_and_changes
from web.runs.delete_runs import DISK, deleted_section, disk_section
from web.runs.live_runs import show_live_runs
from web.runs.queue_panel import queue
from web.runs.table.disk_list import forget_disk_usage
from web.runs.table.grouped_runs import choose_grouping, grouped_runs
from web.runs.table.page_size import GROUPED_ROWS, ROWS, count_text, grouped_count_text, row_limit, show_more
from web.runs.table.pending_lines import show_pending
from web.runs.table.run_filters import RunFilters, choose_order, filter_rows, show_no_match
from web.runs.table.run_listing import choices_of, listing, titles_of
from web.runs.table.run_table import choose_columns, run_table, shown_columns
from web.runs.table.selection_bar import selection_bar
from web.runs.undo_notice import undo_notice
from web.saved_views import view_list
from web.sections import show_sections
from web.sharing.session_list import show_own_sign_in

scope = choose_scope()
choices = choices_of(scope)
if choices.runs:
    with page_head("Runs"):
        if is_operator():
            st.page_link(page_paths.LAUNCH, label="Launch")
            st.page_link(page_paths.LAUNCH, label="Import", query_params={"tab": "Import"})
else:
    st.html(WELCOME)
    show_first_demo()

show_live_runs()
queue()
show_proposals()

st.subheader("Finished runs")
if choices.runs:
    machines = titles_of(scope)
    filters = RunFilters(choices, machines)
    with filter_rows(filters.active_count):
        run_filter = filters.show()
        with st.container(horizontal=True, vertical_alignment="bottom"):
            run_filter = choose_order(run_filter)
            by, speed = choose_grouping()
            columns = choose_columns(choices)
            view_list("runs")
    page_size = GROUPED_ROWS if by else ROWS
    listed_runs, lines, matching = listing(scope, run_filter, row_limit(page_size))
    columns = shown_columns(columns, choices, lines)
    show_pending(lines)
    if not listed_runs:
        show_no_match()
    elif by:
        grouped_runs(
            listed_runs, lines, by, speed, columns, machines, grouped_count_text(len(listed_runs), matching, run_filter)
        )
    else:
        total = choices.runs - (0 if run_filter.marks else choices.archived)
        run_table(listed_runs, lines, columns, machines, count_text(len(listed_runs), matching, total, run_filter))
    selection_bar(scope, {run.id for run in listed_runs})
    show_more(page_size, matching)
else:
    st.info("No run has ended yet. Ended runs are listed here with their speed, configuration and workload.")
undo_notice()

open_sections = show_sections(
    "runs",
    [
        adopted_section(),
        published_section(),
        demo_section() if choices.runs else None,
        deleted_section(),
        disk_section(),
        machine_section(scope),
        peer_section(scope),
        lake_section(),
        channel_section(),
        links_and_changes(),
    ],
)
if DISK not in open_sections:
    forget_disk_usage()
if not is_operator():
    show_own_sign_in()
