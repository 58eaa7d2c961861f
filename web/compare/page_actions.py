"""The actions of the Compare page: Adopt, Share and Report, and a menu with the others, as on Run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from domain import Run
from reports.arms.comparison import ComparisonOptions, ComparisonReport
from web import page_paths
from web.actions import is_member, is_operator
from web.compare.arms.adopt import adopt_form
from web.compare.sources.sql_dialog import show_sql_dialog
from web.compare.url_params import comparison_query
from web.fleet import away_ids
from web.replay.controls import MOST_RUNS
from web.sharing.bundle_button import show_bundle_dialog
from web.sharing.report_button import report_button
from web.sharing.share_dialog import show_share_button


def show_compare_actions(report: ComparisonReport, runs: Sequence[Run], options: ComparisonOptions) -> None:
    """Show what follows from the answer first, then Share and Report, then the menu."""
    if not away_ids(runs):
        adopt_form(report, runs)
        show_share_button(runs, "compare", comparison_query())
        report_button(runs, "compare", options)
    further_actions = _actions_of_menu(report, runs)
    action = st.menu_button("More", list(further_actions), icon=":material/more_horiz:", key="compare-actions")
    if action:
        further_actions[action]()


def _actions_of_menu(report: ComparisonReport, runs: Sequence[Run]) -> dict[str, Callable[[], object]]:
    """Return the rarer actions that the viewer may take, by their label."""
    replayed_ids = [arm.runs[0].run_id for arm in report.arms][:MOST_RUNS]
    actions: dict[str, Callable[[], object]] = {
        "Replay": partial(st.switch_page, page_paths.REPLAY, query_params={"run": replayed_ids})
    }
    if not away_ids(runs):
        if is_operator() and all(run.state.is_final for run in runs):
            actions["Download as a bundle"] = partial(show_bundle_dialog, runs, "compare")
        if is_member():
            actions["Show the SQL"] = partial(show_sql_dialog, [run.id for run in runs])
    return actions
