"""The note below the list of runs whose numbers are still being computed; it reruns the page when some are ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.runs.run_line import RunLine
from reports.runs.run_line import PENDING, line_version
from storage.queries.run_queries import cached_lines
from web.context import services

LOOK_EVERY_S = 5.0


def show_pending(lines: Mapping[str, RunLine]) -> None:
    """Show the note; nothing if all numbers are computed."""
    if pending_ids := [run_id for run_id, line in lines.items() if line is PENDING]:
        _watch(pending_ids)


@st.fragment(run_every=LOOK_EVERY_S)
def _watch(pending_ids: Sequence[str]) -> None:
    if cached_lines(services().store, pending_ids, line_version()):
        st.rerun()
    count_sentence = f"The numbers of {len(pending_ids):,} of these runs are not computed yet."
    st.caption(f"{count_sentence} Pitwall computes them in the background, newest runs first.")
