"""Which live runs of other Pitwalls Live shows beside its own; for the operator, and only where there are peers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from web.actions import is_operator
from web.context import services
from web.live.elsewhere.peer_look import RemoteRun
from web.markup import markdown_text

PARAMETER = "there"
MOST = 8


def runs_elsewhere() -> list[RemoteRun]:
    """The picked ones, in step with `?there=...&there=...`; a run that has ended stays until it is taken out."""
    if not is_operator():
        return []
    elsewhere = services().elsewhere
    live, troubles = {run.id: run for run in elsewhere.runs()}, elsewhere.troubles()
    named = [run_id for run_id in st.query_params.get_all(PARAMETER) if elsewhere.knows(run_id)][:MOST]
    if not live and not troubles and not named:
        return []
    known = live | {run_id: elsewhere.named(run_id) for run_id in named}
    chosen = _picker(list(known.values()), named)
    st.query_params[PARAMETER] = chosen
    for peer, why in troubles.items():
        st.caption(f"{markdown_text(peer)} does not list its runs: {markdown_text(why)}.")
    return [known[run_id] for run_id in chosen]


def _picker(runs: Sequence[RemoteRun], named: Sequence[str]) -> list[str]:
    titles = {run.id: f"{run.peer}: {run.name}" for run in runs}
    return st.multiselect(
        "Live on other Pitwalls",
        list(titles),
        default=list(named),
        format_func=titles.__getitem__,
        max_selections=MOST,
        placeholder="Runs that are live on other Pitwalls",
        key="live-elsewhere",
    )
