"""The count of live, queued and recently failed runs at the right of every page's header."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

import streamlit as st

from domain import Run, RunState, utc_now
from storage.store import Store
from web.context import services
from web.markup import run_link, text

EVERY_S = 4.0
FAILED_SHOWN = timedelta(minutes=30)  # after its end, a failed run is no longer news
MOST_LINKED = 8  # runs that Live shows at once
LIVE_STATES = tuple(state for state in RunState if state.is_live)


@st.fragment(run_every=EVERY_S)
def show_live_status() -> None:
    """Show how many runs are live, queued and recently failed; nothing if there are none."""
    runs = runs_of_status(services().store)
    with st.container(key="live-status"):
        st.html(status_html(runs.live, len(runs.queued), recent_failures(runs.failed)))


def recent_failures(failed: Sequence[Run]) -> list[Run]:
    """Return those of the failed runs that are news; an imported log is not, and may have no time of its own."""
    oldest = utc_now() - FAILED_SHOWN  # an idle store has no change by which a cached answer would end
    return [run for run in failed if run.kind != "imported" and run.ended_at and run.ended_at > oldest]


class StatusRuns(NamedTuple):
    """The runs that the status counts; of the failed ones the newest."""

    live: Sequence[Run]
    queued: Sequence[Run]
    failed: Sequence[Run]


def runs_of_status(store: Store) -> StatusRuns:
    """Return the runs under way and the newest failures, queried once for all viewers until a run changes."""
    return store.query_cache.get("runs of the live status", lambda: _runs_of_status(store))


def _runs_of_status(store: Store) -> StatusRuns:
    return StatusRuns(
        store.runs(LIVE_STATES), store.runs([RunState.QUEUED]), store.runs([RunState.FAILED], MOST_LINKED)
    )


def status_html(live: Sequence[Run], queued: int, failed: Sequence[Run]) -> str:
    """Return the status as links: '1 failed', '2 running', '3 queued'."""
    parts = []
    if failed:
        href = run_link("run", [failed[0].id])
        names = text(", ".join(run.name for run in failed))
        label = f"{len(failed)} failed"
        parts.append(f'<a class="pw-state-failed" href="{href}" target="_self" title="{names}">{label}</a>')
    if live:
        href = run_link("live", [run.id for run in live[:MOST_LINKED]])
        parts.append(f'<a class="pw-running" href="{href}" target="_self">{len(live)} running</a>')
    if queued:
        parts.append(f"<span>{queued} queued</span>")
    return f'<p class="pw-live-status" role="status">{" · ".join(parts)}</p>'
