"""Runs: what Pitwall is, what is live now, what there is to compare."""

from __future__ import annotations

import streamlit as st

from domain import Run, RunState
from web import markup
from web.compare.arms.adopt import adopted_section
from web.compare.sources.published import published_section
from web.context import services
from web.fleet import scope_asked
from web.guided_demo.start import demo_again, first_demo
from web.guided_demo.welcome import WELCOME
from web.machines.lake_panel import lake_panel
from web.machines.machine_list import machine_list
from web.machines.peer_panel import peer_panel
from web.runs.change_list import links_and_changes
from web.runs.queue_panel import queue, queue_stands
from web.runs.table.delete_runs import deleted_runs, disk_and_rule
from web.runs.table.grouped_runs import choose_grouping, grouped_runs
from web.runs.table.pending_lines import show_pending
from web.runs.table.run_cards import live_cards
from web.runs.table.run_filters import run_filters
from web.runs.table.run_listing import choices_of, listing, titles_of
from web.runs.table.run_table import choose_columns, run_table, shown_columns
from web.runs.table.shown_part import GROUPED, ROWS, how_many, how_many_grouped, most_shown, show_more
from web.saved_views import view_list

NEWEST = 50  # of those that wait
LIVE = [state for state in RunState if state.is_live]

scope = scope_asked()
choices = choices_of(scope)
if not choices.runs:
    st.html(WELCOME)
    first_demo()


@st.fragment(run_every=2.0)
def live_now() -> None:
    """One card a live run; queued ones behind. What is drawn every two seconds costs next to nothing for those."""
    store = services().store
    live, queued = store.runs(LIVE), store.runs([RunState.QUEUED], NEWEST)
    if live or queued:
        st.subheader("Live now")
        st.html(live_cards([*live, *queued]))
    if live:
        st.html(markup.live_link([run.id for run in live]))
    follow_changes([*live, *queued])


def follow_changes(runs: list[Run]) -> None:
    """The rest of the page is drawn anew when a run has come or ended, or the queue is another."""
    now = {run.id for run in runs}, queue_stands()
    before = st.session_state.get("runs-under-way", now)  # "live-runs" is what the Live page's picker holds
    st.session_state["runs-under-way"] = now
    if before != now:
        st.rerun()


live_now()
queue()

st.subheader("Finished runs")
if choices.runs:
    machines = titles_of(scope)
    wanted = run_filters(choices, machines, "runs")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by, speed = choose_grouping()
        columns = choose_columns(choices)
        view_list("runs")
    steps = GROUPED if by else ROWS
    found, lines, matching = listing(scope, wanted, most_shown(steps))
    columns = shown_columns(columns, choices, lines)
    show_pending(lines)
    if not found:
        st.info("No run is like that.")
    elif by:
        grouped_runs(found, lines, by, speed, columns, machines, how_many_grouped(len(found), matching, wanted))
    else:
        of_all = choices.runs - (0 if wanted.marks else choices.archived)
        run_table(found, lines, columns, machines, how_many(len(found), matching, of_all, wanted))
    show_more(steps, matching)
else:
    st.info(
        "No run has ended yet. Each run that ends is listed here, with its speed, its configuration and its workload."
    )

adopted_section()
published_section()
if choices.runs:
    demo_again()
deleted_runs()
disk_and_rule()
machine_list(scope)
peer_panel(scope)
lake_panel()
links_and_changes()
