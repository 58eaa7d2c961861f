"""The live and the queued runs on Runs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from web import markup
from web.context import services
from web.live_status import runs_of_status
from web.runs.queue_panel import queue_fingerprint
from web.runs.table.run_cards import live_cards

REDRAW_S = 2.0
MAX_QUEUED_RUNS = 50


@st.fragment(run_every=REDRAW_S)
def show_live_runs() -> None:
    """One card per live run, then the queued ones; redrawn every two seconds, so cards must be cheap."""
    runs = runs_of_status(services().store)
    shown_runs = [*runs.live, *runs.queued[:MAX_QUEUED_RUNS]]
    if shown_runs:
        st.subheader("Live now")
        st.html(live_cards(shown_runs))
    if runs.live:
        st.html(markup.live_link([run.id for run in runs.live]))
    _follow_changes(shown_runs)


def _follow_changes(runs: Sequence[Run]) -> None:
    """Rerun the page when a run starts or ends or the queue changes."""
    current = {run.id for run in runs}, queue_fingerprint()
    previous = st.session_state.get("runs-under-way", current)  # "live-runs" is the key of Live's picker
    st.session_state["runs-under-way"] = current
    if previous != current:
        st.rerun()
