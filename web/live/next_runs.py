"""Link from Live to the rest of a batch: repeats run in rounds, so the next run is rarely one of those shown."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run, RunState
from web import page_paths
from web.markup import markdown_text
from web.runs.queue_words import queued_texts


def batch_mates(runs: Sequence[Run], shown_runs: Sequence[Run]) -> list[Run]:
    """Return those of `runs` that share a batch with a shown run and are not shown themselves."""
    batches, ids = {run.batch_id for run in shown_runs if run.batch_id}, {run.id for run in shown_runs}
    return [run for run in runs if run.batch_id in batches and run.id not in ids]


def show_waits(shown_runs: Sequence[Run]) -> None:
    """Say what each queued one of the shown runs waits for."""
    for run_id, text in queued_texts(shown_runs).items():
        name = next(run.name for run in shown_runs if run.id == run_id)
        st.caption(markdown_text(f"{name}: {text}."), width="content")


def show_batch_queue(shown_runs: Sequence[Run], mates: Sequence[Run]) -> None:
    """Say how many runs of the shown runs' batches are queued, and link to those that run now."""
    unfinished = [run for run in mates if not run.state.is_final]
    waiting = sum(run.state is RunState.QUEUED for run in unfinished)
    if not unfinished:
        return
    label = (
        "1 more run of this batch is queued"
        if waiting == 1
        else f"{waiting or 'No'} more runs of this batch are queued"
    )
    st.caption(f"{label}.", width="content")
    for run in unfinished:
        if run.state is not RunState.QUEUED:
            ids = [*sorted(shown_run.id for shown_run in shown_runs), run.id][-8:]
            st.page_link(page_paths.LIVE, label=f"Now: {markdown_text(run.name)}", query_params={"run": ids})
