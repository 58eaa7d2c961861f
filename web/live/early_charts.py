"""The charts of Live before the answer: of ended runs whose reports are not in memory, they appear first.

The reports of long runs take seconds to compute, and the page's script runs from top to bottom: so it shows the charts
without what needs the reports, reads these, and runs once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import Run
from web.compare.cached_reports import reports_on
from web.context import services

UNREAD = "its report is still being read"
_READ = "live-reports-read"  # session state: the ended runs whose reports were read for this page


def must_read_reports(runs: Sequence[Run]) -> bool:
    """Return whether the charts are to be shown before the reports of these runs are read."""
    ended = _ended(runs)
    return not services().reports.holds(ended) and st.session_state.get(_READ) != [run.id for run in ended]


def read_reports(runs: Sequence[Run]) -> None:
    """Read the reports of these runs, then run the script again."""
    ended = _ended(runs)
    reports_on(services().store, ended)
    st.session_state[_READ] = [run.id for run in ended]  # they may not fit into memory
    st.rerun()


def _ended(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.state.is_final]
