"""Below the list of runs: that numbers of some are still computed, and the page once there are more of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.runs.run_line import RunLine
from reports.formulas import formulas
from reports.runs.run_line import PENDING
from storage.ask.run_queries import kept_lines
from web.context import services

LOOK_EVERY_S = 5.0


def show_pending(lines: Mapping[str, RunLine]) -> None:
    """Nothing where the numbers of all runs are known, or known to be unknown."""
    if waiting := [run_id for run_id, line in lines.items() if line is PENDING]:
        _watch(waiting)


@st.fragment(run_every=LOOK_EVERY_S)
def _watch(waiting: Sequence[str]) -> None:
    if kept_lines(services().store, waiting, formulas()):
        st.rerun()
    words = f"The numbers of {len(waiting):,} of these runs are not computed yet."
    st.caption(f"{words} Pitwall does that in the background, the newest first.")
