"""The runs of a batch that work or wait while others of it are looked at: repeats come in rounds."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run, RunState
from web import places
from web.markup import markdown_text


def next_of_batch(runs: Sequence[Run], shown: Sequence[Run]) -> None:
    """A link to what runs now, and how many wait, of the batches of the shown runs."""
    batches, ids = {run.batch_id for run in shown if run.batch_id}, {run.id for run in shown}
    others = [run for run in runs if run.batch_id in batches and run.id not in ids and not run.state.is_final]
    waiting = sum(run.state is RunState.QUEUED for run in others)
    working = [run for run in others if run.state is not RunState.QUEUED]
    if not others:
        return
    words = f"{waiting} more of this batch wait" if waiting > 1 else f"{waiting or 'None'} more of this batch waits"
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{words} in the queue.")
        for run in working:
            label = f"Now: {markdown_text(run.name)}"
            st.page_link(places.LIVE, label=label, query_params={"run": [*sorted(ids), run.id][-8:]})
