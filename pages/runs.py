"""Runs: what Pitwall is, what is live now, what there is to compare."""

from __future__ import annotations

import streamlit as st

from web import markup
from web.actions import demo_buttons
from web.change_list import links_and_changes
from web.context import services
from web.facts import facts_of
from web.published import published_section
from web.queue_panel import queue
from web.run_cards import live_cards
from web.run_table import pick_from_table

NEWEST = 50

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
    runs = [run for run in services().store.runs(limit=NEWEST) if not run.state.is_final]
    if runs:
        st.subheader("Live now")
        st.html(live_cards(runs))
        ids = [run.id for run in runs if run.state.is_live]
        if ids:
            st.html(f'<a href="{markup.run_link("live", ids)}" target="_self">Watch side by side</a>')
    if st.session_state.get("live-count", len(runs)) != len(runs):
        st.session_state["live-count"] = len(runs)
        st.rerun()
    st.session_state["live-count"] = len(runs)
    queue()


live_now()

ended = [run for run in services().store.runs(limit=NEWEST) if run.state.is_final]
st.subheader("Finished runs")
if ended:
    pick_from_table(facts_of(ended))
else:
    st.info("No run has ended yet. Run the demo: three configurations of a real server, about two minutes.")

published_section()
links_and_changes()
