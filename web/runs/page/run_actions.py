"""The actions of the Run page: what continues the run, Share and Report, and a menu with the others."""

from __future__ import annotations

import streamlit as st

from domain import Run, RunState
from web import page_paths
from web.actions import is_editor, is_operator, stop_buttons
from web.compare.sources.sql_popover import sql_button
from web.context import services
from web.replay.controls import show_replay_link
from web.run_notes.gotcha_panel import gotcha_button
from web.runs.delete_runs import delete_button
from web.runs.page.compare_with import compare_with
from web.runs.page.repeat_button import repeat_button
from web.sharing.bundle_button import bundle_button
from web.sharing.report_button import report_button
from web.sharing.share_dialog import show_share_button


def run_actions(run: Run) -> None:
    """Show what continues this run first, then Share and Report, then the menu."""
    stop_buttons([run])
    repeat_button(run)
    compare_with(run)
    show_share_button([run], "run")
    report_button([run], "run")
    with st.popover("More", icon=":material/more_horiz:", key="run-more"):
        _further_actions(run)


def _further_actions(run: Run) -> None:
    """The rarer actions; Delete is the last, apart from what is harmless."""
    if not run.cause:  # the page of a failed run offers it below the cause
        relaunch_link(run)
    st.page_link(page_paths.LIVE, label="Live view", query_params={"run": run.id})
    if run.shown_state == RunState.FINISHED:
        show_replay_link([run.id])
    bundle_button([run], "run")
    sql_button([run.id])
    if is_editor() and services().store.run(run.id):
        gotcha_button(run)
        if run.state.is_final:
            delete_button([run], "run", is_their_page=True)


def relaunch_link(run: Run) -> None:
    """Link the operator to the launch form with this run's command."""
    if run.config.argv and is_operator():
        st.page_link(page_paths.LAUNCH, label="Relaunch with one change", query_params={"run": run.id})
