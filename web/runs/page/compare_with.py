"""The button of the Run page that compares the run with another one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from storage.queries.run_queries import RunFilter, find_runs
from web import page_paths
from web.actions import is_member
from web.context import services
from web.times import DAYS, format_time

MAX_OFFERED = 200  # the newest


def compare_with(run: Run) -> None:
    """Offer the other ended runs, newest first, to members, who may see them all."""
    other_runs = [other for other in _ended_runs() if other.id != run.id] if is_member() else []
    if not other_runs:
        return
    with st.popover("Compare with ...", key="compare-with"):
        chosen_run = st.selectbox(
            "Run", other_runs, None, format_func=_title, placeholder="choose, or type a part of its name", width=360
        )
        ids = [
            compared.id
            for compared in sorted([run, *([chosen_run] if chosen_run else [])], key=lambda run: run.start_order)
        ]
        st.page_link(page_paths.COMPARE, label="Compare", query_params={"run": ids}, disabled=chosen_run is None)


def _ended_runs() -> Sequence[Run]:
    store = services().store
    return store.query_cache.get(("ended runs", MAX_OFFERED), lambda: find_runs(store, RunFilter(), MAX_OFFERED))


def _title(run: Run) -> str:
    return f"{run.name}, {format_time(run.began_at, DAYS)}"
