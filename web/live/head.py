"""Live's one row above the runs: which are shown, their loads, stop and share; what waits; at the end the answer."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run, RunState
from reports.arms.comparison import comparison_of
from web import places
from web.actions import is_member, stop_buttons
from web.compare.answer.short_answer import LOOK, short_answer
from web.compare.kept_reports import windows_on
from web.context import services
from web.guided_demo.tour import follow_demo, in_order_of_answer
from web.live.next_runs import batch_mates, next_of_batch
from web.markup import markdown_text
from web.picker import Picked, pick_runs
from web.runs.loads.load_progress import has_ended
from web.runs.loads.workload_panel import workload_progress
from web.sharing.share_dialog import share_button

KEY = "live-runs"
PROMPT = "Runs to watch; finished ones are overlaid on the live ones"
MOST_COMPARED = 24
KEPT_S = 60  # the answer about runs that have ended, for all who look at them


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
        _to_answer(picked.runs, mates)
        next_of_batch(picked.runs, mates)
        follow_demo(picked.runs, mates)
    return picked


def _pick(runs: Sequence[Run], default: Sequence[str]) -> Picked:
    if len(runs) == 1 and not is_member():  # nothing to pick
        return pick_runs(runs, default, PROMPT, key=KEY)
    with st.popover("Runs", icon=":material/add:", help="Add runs, or take some out", key="live-more"):
        return pick_runs(runs, default, PROMPT, key=KEY)


def _to_answer(shown: Sequence[Run], mates: Sequence[Run]) -> None:
    """A link to the comparison of these runs and of their batch, or to the only result; it stands out at the end."""
    everyone = [*shown, *mates]
    comparable = [run for run in everyone if run.state is not RunState.FAILED]
    is_done = all(has_ended(run) for run in everyone)
    if len(comparable) > 1:
        compared = in_order_of_answer(comparable)[:MOST_COMPARED]
        words = f"Done: {_in_short(compared)}" if is_done else "Compare"
        _link(words, places.COMPARE, [run.id for run in compared], is_done)
    elif comparable and is_done:
        (run,) = comparable
        whose = "its result" if len(everyone) == 1 else f"the result of {markdown_text(run.name)}"
        _link(f"Done: see {whose}", places.RUN, [run.id], is_done)


def _in_short(runs: Sequence[Run]) -> str:
    """What Compare will say of these runs; while a server goes on, its last requests may not be stored yet."""
    if not all(run.state.is_final for run in runs):
        return LOOK
    return markdown_text(_answer(runs, [(run.id, run.name) for run in runs]))


@st.cache_data(ttl=KEPT_S, max_entries=100, show_spinner=False)
def _answer(_runs: Sequence[Run], kept_by: Sequence[tuple[str, str]]) -> str:
    return short_answer(comparison_of(services().store, _runs, windows_of=windows_on).answers)


def _link(words: str, page: str, ids: list[str], is_done: bool) -> None:
    with st.container(key="live-done" if is_done else "live-compare", width="content"):
        st.page_link(page, label=words, query_params={"run": ids})
