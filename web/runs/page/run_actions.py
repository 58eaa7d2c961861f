"""The actions of the Run page: what continues the run, Share and Report, and a menu with the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from domain import Run, RunState
from web import page_paths
from web.actions import is_editor, is_member, is_operator, stop_buttons
from web.compare.sources.sql_dialog import show_sql_dialog
from web.context import services
from web.run_notes.gotcha_panel import save_known_issue
from web.runs.delete_runs import confirm_deletion
from web.runs.page.compare_with import compare_with
from web.runs.page.repeat_button import repeat_button
from web.sharing.bundle_button import show_bundle_dialog
from web.sharing.report_button import report_button
from web.sharing.share_dialog import show_share_button

RELAUNCH = "Relaunch with one change"


def run_actions(run: Run) -> None:
    """Show what continues this run first, then Share and Report, then the menu."""
    stop_buttons([run])
    repeat_button(run)
    compare_with(run)
    show_share_button([run], "run")
    report_button([run], "run")
    further_actions = actions_of_menu(run)
    action = st.menu_button("More", list(further_actions), icon=":material/more_horiz:", key="run-more")
    if action:
        further_actions[action]()


def actions_of_menu(run: Run) -> dict[str, Callable[[], object]]:
    """Return the rarer actions that the viewer may take, by their label; Delete is the last."""
    params = {"run": run.id}
    actions: dict[str, Callable[[], object]] = {}
    if run.config.argv and is_operator() and not run.cause:  # the page of a failed run offers it below the cause
        actions[RELAUNCH] = partial(st.switch_page, page_paths.LAUNCH, query_params=params)
    actions["Live view"] = partial(st.switch_page, page_paths.LIVE, query_params=params)
    if run.shown_state == RunState.FINISHED:
        actions["Replay"] = partial(st.switch_page, page_paths.REPLAY, query_params=params)
    if is_operator() and run.state.is_final:
        actions["Download as a bundle"] = partial(show_bundle_dialog, [run], "run")
    if is_member():
        actions["Show the SQL"] = partial(show_sql_dialog, [run.id])
    if is_editor() and services().store.run(run.id):
        actions["Save as a known issue"] = partial(save_known_issue, run)
    if is_operator() and run.state.is_final:
        actions["Delete"] = partial(confirm_deletion, [run], is_their_page=True)
    return actions


def relaunch_link(run: Run) -> None:
    """Link the operator to the launch form with this run's command."""
    if run.config.argv and is_operator():
        st.page_link(page_paths.LAUNCH, label=RELAUNCH, query_params={"run": run.id})
