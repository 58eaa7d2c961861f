"""The button that repeats a finished run: same command and workload, a new server start each time."""

from __future__ import annotations

import streamlit as st

from domain import WATCH, Run
from launcher.checks.launch_request import LaunchRefusedError
from launcher.runs.rounds import MOST_REPEATS, NO_LOAD
from web import audit, page_paths
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text

SUGGESTED = 2  # three with the run itself


def repeat_button(run: Run) -> None:
    """Show the button to the operator, for an ended run that Pitwall launched."""
    if not is_operator() or run.kind != "launched" or not run.state.is_final:
        return
    has_load = run.workload is not None and run.workload.name != WATCH.name
    with st.popover("Repeat", disabled=not has_load, help=None if has_load else NO_LOAD):
        with st.form("repeat", border=False, enter_to_submit=False):
            count = int(st.number_input("How many more runs", 1, MOST_REPEATS, SUGGESTED))
            pressed = st.form_submit_button("Queue them", type="primary")
        st.caption("The same command and workload, one after the other, each on a new server start.")
    if pressed:
        _repeat(run, count)


def _repeat(run: Run, count: int) -> None:
    require_operator()
    try:
        runs = services().supervisor.repeat(run.id, count)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("launch", [repeat.id for repeat in runs], f"repeats of {run.id}")
    st.switch_page(page_paths.RUNS)
