"""The runs of a batch that work or wait while others of it are looked at: repeats come in rounds."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run, RunState
from web import places
from web.markup import markdown_text


def batch_mates(runs: Sequence[Run], shown: Sequence[Run]) -> list[Run]:
    """Those of `runs` that belong to a batch of the shown ones and are not shown themselves."""
    batches, ids = {run.batch_id for run in shown if run.batch_id}, {run.id for run in shown}
    return [run for run in runs if run.batch_id in batches and run.id not in ids]


def next_of_batch(shown: Sequence[Run], mates: Sequence[Run]) -> None:
    """A link to what runs now, and how many wait, of the batches of the shown runs."""
    others = [run for run in mates if not run.state.is_final]
    waiting = sum(run.state is RunState.QUEUED for run in others)
    if not others:
        return
    words = f"{waiting} more of this batch wait" if waiting > 1 else f"{waiting or 'None'} more of this batch waits"
    st.caption(f"{words} in the queue.", width="content")
    for run in others:
        if run.state is not RunState.QUEUED:
            ids = [*sorted(one.id for one in shown), run.id][-8:]
            st.page_link(places.LIVE, label=f"Now: {markdown_text(run.name)}", query_params={"run": ids})
