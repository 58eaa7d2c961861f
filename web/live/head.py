"""The title row of Live: the picker, Share, the load and Stop; below it what is queued and, at the end, the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from domain import CANCELLED, Run, RunState
from reports.arms.comparison import comparison_of
from web import page_paths
from web.actions import is_member, stop_buttons
from web.compare.answer.short_answer import FALLBACK, short_answer
from web.compare.cached_reports import log_speeds_on
from web.context import services
from web.guided_demo.tour import baseline_first, follow_demo
from web.live.early_charts import must_read_reports
from web.loads.panels.load_progress import has_ended
from web.loads.panels.workload_panel import show_workload_progress
from web.markup import markdown_text
from web.page_head import page_head
from web.picker import RunSelection, pick_runs
from web.runs.queue_words import unexplained_waits
from web.sharing.share_dialog import show_share_button

KEY = "live-runs"
PROMPT = "Runs to watch; finished ones are overlaid on the live ones"
MOST_COMPARED = 24
KEPT_S = 60  # how long the answer about ended runs is cached, for all viewers


class LiveHead(NamedTuple):
    """What the row shows. must_read: the reports of the picked runs are still to be read, so it has no answer yet."""

    picked: RunSelection
    must_read: bool


def show_live_head(runs: Sequence[Run], default: Sequence[str]) -> LiveHead:
    """Show the row and return its content; the picker is behind its '+', or replaces the row if none is picked."""
    run_ids = st.query_params.get_all("run") or default
    if not run_ids and not st.session_state.get(KEY):
        with page_head("Live"):
            pass
        picked = pick_runs(runs, default, PROMPT, key=KEY)
        return LiveHead(picked, must_read_reports(picked.runs))
    with page_head("Live"):
        picked = _pick(runs, default)
        must_read = must_read_reports(picked.runs)  # once: meanwhile another viewer may have them read
        mates = _batch_mates(runs, picked.runs)
        answer = _answer_link(picked.runs, mates, must_read)
        if answer and not answer.is_final:
            answer.show("live-compare")
        show_share_button(picked.runs, "live")
        show_workload_progress([*picked.runs, *mates], is_compact=True)
        stop_buttons(picked.runs)  # last, so that it stays at the row's end whatever else comes and goes
    with st.container(key="live-notes", horizontal=True, gap="small"):
        _show_waits(picked.runs)
        _show_batch_queue(picked.runs, mates)
        follow_demo(picked.runs, mates)
    if answer and answer.is_final:
        answer.show("live-done")
    return LiveHead(picked, must_read)


def _pick(runs: Sequence[Run], default: Sequence[str]) -> RunSelection:
    if len(runs) == 1 and not is_member():  # nothing to pick
        return pick_runs(runs, default, PROMPT, key=KEY)
    with st.popover("Runs", icon=":material/add:", help="Add or remove runs", key="live-more"):
        return pick_runs(runs, default, PROMPT, key=KEY)


class AnswerLink(NamedTuple):
    """A link to what the runs lead to; final once nothing more is measured."""

    label: str
    page: str
    run_ids: list[str]
    is_final: bool

    def show(self, key: str) -> None:
        """Show the link in a container with this key."""
        with st.container(key=key, width="stretch" if self.is_final else "content"):
            st.page_link(self.page, label=self.label, query_params={"run": self.run_ids})


def _answer_link(shown_runs: Sequence[Run], mates: Sequence[Run], must_read: bool) -> AnswerLink | None:
    """Return the link to the comparison of these runs with their batch, or to the only result.

    must_read: without the answer, which takes the reports of these runs.
    """
    all_runs = [*shown_runs, *mates]
    comparable = [run for run in all_runs if run.shown_state not in (RunState.FAILED, CANCELLED)]
    is_final = all(has_ended(run) for run in all_runs)
    if len(comparable) > 1:
        compared_runs = baseline_first(comparable)[:MOST_COMPARED]
        label = f"Done: {FALLBACK if must_read else _short_text(compared_runs)}" if is_final else "Compare"
        return AnswerLink(label, page_paths.COMPARE, [run.id for run in compared_runs], is_final)
    if comparable and is_final:
        (run,) = comparable
        subject = "" if len(all_runs) == 1 else f" of {markdown_text(run.name)}"
        return AnswerLink(f"Done: see the result{subject}", page_paths.RUN, [run.id], is_final)
    return None


def _short_text(runs: Sequence[Run]) -> str:
    """Return Compare's short answer; while a server still runs, its last requests may not be stored yet."""
    if not all(run.state.is_final for run in runs):
        return FALLBACK
    return markdown_text(_answer(runs, [(run.id, run.name) for run in runs]))


@st.cache_data(ttl=KEPT_S, max_entries=100, show_spinner=False)
def _answer(_runs: Sequence[Run], cache_key: Sequence[tuple[str, str]]) -> str:
    return short_answer(comparison_of(services().store, _runs, log_speeds_of=log_speeds_on).answers)


def _batch_mates(runs: Sequence[Run], shown_runs: Sequence[Run]) -> list[Run]:
    """Return those of `runs` that share a batch with a shown run and are not shown themselves."""
    batches, ids = {run.batch_id for run in shown_runs if run.batch_id}, {run.id for run in shown_runs}
    return [run for run in runs if run.batch_id in batches and run.id not in ids]


def _show_waits(shown_runs: Sequence[Run]) -> None:
    """Say what each queued one of the shown runs waits for, if that is not shown itself."""
    if all(run.state is not RunState.QUEUED for run in shown_runs):
        return
    for run_id, text in unexplained_waits(shown_runs).items():
        name = next(run.name for run in shown_runs if run.id == run_id)
        st.caption(markdown_text(f"{name}: {text}."), width="content")


def _show_batch_queue(shown_runs: Sequence[Run], mates: Sequence[Run]) -> None:
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
