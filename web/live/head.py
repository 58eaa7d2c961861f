"""Live's one row above the runs: which are shown, their loads, stop and share; what waits; and at the end Compare."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run, RunState
from web import places
from web.actions import is_member, stop_buttons
from web.guided_demo.tour import follow_demo, in_order_of_answer
from web.live.next_runs import batch_mates, next_of_batch
from web.picker import Picked, pick_runs
from web.runs.loads.load_progress import has_ended
from web.runs.loads.workload_panel import workload_progress
from web.sharing.share_dialog import share_button

KEY = "live-runs"
PROMPT = "Runs to watch; finished ones are overlaid on the live ones"
MOST_COMPARED = 24


def live_head(runs: Sequence[Run], default: Sequence[str]) -> Picked:
    """The row, and the runs picked of `runs`: behind its '+', or in its place while none is."""
    named = st.query_params.get_all("run") or default
    if not named and not st.session_state.get(KEY):
        return pick_runs(runs, default, PROMPT, key=KEY)
    with st.container(key="live-head", horizontal=True, vertical_alignment="center", gap="small"):
        picked = _pick(runs, default)
        mates = batch_mates(runs, picked.runs)
        workload_progress([*picked.runs, *mates], is_compact=True)
        stop_buttons(picked.runs)
        share_button(picked.runs, "live")
        _to_compare(picked.runs, mates)
        next_of_batch(picked.runs, mates)
        follow_demo(picked.runs, mates)
    return picked


def _pick(runs: Sequence[Run], default: Sequence[str]) -> Picked:
    if len(runs) == 1 and not is_member():  # nothing to pick
        return pick_runs(runs, default, PROMPT, key=KEY)
    with st.popover("Runs", icon=":material/add:", help="Add runs, or take some out", key="live-more"):
        return pick_runs(runs, default, PROMPT, key=KEY)


def _to_compare(shown: Sequence[Run], mates: Sequence[Run]) -> None:
    """A link to the comparison of these runs and of their batch; it says so once all of them have ended."""
    comparable = [run for run in (*shown, *mates) if run.state is not RunState.FAILED]
    if len(comparable) < 2:
        return
    ids = [run.id for run in in_order_of_answer(comparable)]
    is_done = all(has_ended(run) for run in (*shown, *mates))
    with st.container(key="live-done" if is_done else "live-compare", width="content"):
        label = "Done: compare them" if is_done else "Compare"
        st.page_link(places.COMPARE, label=label, query_params={"run": ids[:MOST_COMPARED]})
