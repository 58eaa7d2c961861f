"""The operator's picker for live runs of other Pitwalls, shown on Live only if there are peers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from web.actions import is_operator
from web.context import services
from web.live.peers.peer_look import PeerRun
from web.markup import markdown_text

PARAMETER = "there"
MAX_PEER_RUNS = 8


def pick_peer_runs() -> list[PeerRun]:
    """Return the picked runs, synced with `?there=...&there=...`; an ended run stays until it is removed."""
    if not is_operator():
        return []
    elsewhere = services().peer_relay
    live, troubles = {run.id: run for run in elsewhere.runs()}, elsewhere.troubles()
    requested_ids = [run_id for run_id in st.query_params.get_all(PARAMETER) if elsewhere.knows(run_id)][:MAX_PEER_RUNS]
    if not live and not troubles and not requested_ids:
        return []
    runs_by_id = live | {run_id: elsewhere.last_seen(run_id) for run_id in requested_ids}
    selected_ids = _picker(list(runs_by_id.values()), requested_ids)
    st.query_params[PARAMETER] = selected_ids
    for peer, why in troubles.items():
        st.caption(f"{markdown_text(peer)} did not list its runs: {markdown_text(why)}.")
    return [runs_by_id[run_id] for run_id in selected_ids]


def _picker(runs: Sequence[PeerRun], selected_ids: Sequence[str]) -> list[str]:
    titles = {run.id: f"{run.peer}: {run.name}" for run in runs}
    return st.multiselect(
        "Live on other Pitwalls",
        list(titles),
        default=list(selected_ids),
        format_func=titles.__getitem__,
        max_selections=MAX_PEER_RUNS,
        select_all=False,
        placeholder="Runs that are live on other Pitwalls",
        key="live-elsewhere",
    )
