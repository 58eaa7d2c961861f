"""Runs: what Pitwall is, what is live now, what there is to compare."""

from __future__ import annotations

import streamlit as st

from domain import Run, RunState
from reports.run_report import report_on
from web import markup
from web.actions import demo_buttons
from web.compare.published import published_section
from web.context import services
from web.runs.change_list import links_and_changes
from web.runs.queue_panel import queue
from web.runs.run_cards import live_cards
from web.runs.run_table import pick_from_table

NEWEST = 50  # of those that wait, and of those that have ended
LIVE = [state for state in RunState if state.is_live]
FINAL = [state for state in RunState if state.is_final]

st.html(
    '<h1 class="pw-title">Pitwall</h1>'
    '<p class="pw-lead">Launch configurations of a language model server, watch them live side by side, '
    "and learn which is faster and why.</p>"
    '<p class="pw-lead pw-muted">Every number says who measured it and how; what cannot be compared is not ranked.</p>'
)
demo_buttons()


@st.fragment(run_every=2.0)
def live_now() -> None:
    """One card a live run; queued ones behind."""
    store = services().store
    live, queued = store.runs(LIVE), store.runs([RunState.QUEUED], NEWEST)
    if live or queued:
        st.subheader("Live now")
        st.html(live_cards([*live, *queued]))
    if live:
        ids = [run.id for run in live]
        st.html(f'<a href="{markup.run_link("live", ids)}" target="_self">Watch side by side</a>')
    follow_changes([*live, *queued])
    queue()


def follow_changes(runs: list[Run]) -> None:
    """The rest of the page is drawn anew when a run has come or ended."""
    ids = {run.id for run in runs}
    before = st.session_state.get("runs-under-way", ids)  # "live-runs" is what the Live page's picker holds
    st.session_state["runs-under-way"] = ids
    if before != ids:
        st.rerun()


live_now()

ended = services().store.runs(FINAL, NEWEST)
st.subheader("Finished runs")
if ended:
    pick_from_table(report_on(services().store, ended))
else:
    st.info("No run has ended yet. Run the demo: three configurations of a real server, about two minutes.")

published_section()
links_and_changes()
