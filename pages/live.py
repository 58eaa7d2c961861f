"""Live: runs side by side as they happen, with any finished run laid under them."""

from __future__ import annotations

import streamlit as st

from reports.comparison import not_comparable
from web.actions import is_operator, stop_buttons
from web.compare.sentence import refusal_words
from web.context import services
from web.live.component import live_plot
from web.live.next_runs import next_of_batch
from web.picker import nothing_yet, pick_runs, tell_unknown
from web.runs.workload_panel import workload_progress
from web.sharing.share_dialog import share_button
from web.visible import visible_runs

NEWEST = 200
GHOSTS_BY_DEFAULT = 3

runs = visible_runs(NEWEST)
live = [run.id for run in runs if run.state.is_live]
ghosts = [run.id for run in runs if run.state == "finished"][:GHOSTS_BY_DEFAULT][::-1]
prompt = "Runs to watch; finished ones are laid under the live ones"
picked = pick_runs(runs, live or ghosts, prompt, key="live-runs")
tell_unknown(picked)
if picked.runs:
    with st.container(horizontal=True):
        stop_buttons(picked.runs)
        share_button(picked.runs, "live")
    next_of_batch(runs, picked.runs)
    workload_progress(picked.runs)
    names = {run.id: run.name for run in picked.runs}
    found = not_comparable(services().store, picked.runs)
    reasons = {run_id: refusal_words(row, names) for run_id, row in found.items()}
    live_plot({run.id: run.color for run in picked.runs}, not_comparable=reasons)
elif not runs and is_operator():
    nothing_yet()
else:
    st.info("Pick runs above to see them side by side.")
