"""Further repeats of a finished run: the same command and workload, a new server start each."""

from __future__ import annotations

import streamlit as st

from domain import WATCH, Run
from launcher.checks.preflight import LaunchRefusedError
from launcher.runs.rounds import MOST_REPEATS, NO_LOAD
from web import audit, places
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text

SUGGESTED = 2  # with the run itself three


def repeat_button(run: Run) -> None:
    """For the operator, of a run that Pitwall launched and that has ended."""
    if not is_operator() or run.kind != "launched" or not run.state.is_final:
        return
    has_load = run.workload is not None and run.workload.name != WATCH.name
    with st.popover("Repeat", disabled=not has_load, help=None if has_load else NO_LOAD):
        with st.form("repeat", border=False):
            times = int(st.number_input("How many more runs", 1, MOST_REPEATS, SUGGESTED))
            pressed = st.form_submit_button("Queue them", type="primary")
        st.caption("The same command under the same workload, one after the other, a server start each.")
    if pressed:
        _repeat(run, times)


def _repeat(run: Run, times: int) -> None:
    require_operator()
    try:
        runs = services().supervisor.repeat(run.id, times)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("launch", [one.id for one in runs], f"repeats of {run.id}")
    st.switch_page(places.RUNS)
