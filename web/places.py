"""The pages by name, as Streamlit finds them from web/shell.py, and what the browser's tab says of each."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

# The paths of the browser's address, the first page's apart.
PATHS = ("live", "launch", "compare", "replay", "studies", "explore", "sql", "run", "shared")
REPORT = "report"  # a route of its own: no script of Streamlit runs there
SERIES = "series"  # likewise
ANSWER = "answer"  # likewise
RUNS = "../pages/runs.py"
LIVE = "../pages/live.py"
LAUNCH = "../pages/launch.py"
COMPARE = "../pages/compare.py"
REPLAY = "../pages/replay.py"
RUN = "../pages/run.py"
SHARED = "../pages/shared.py"
SQL = "../pages/sql.py"
EXPLORE = "../pages/explore.py"
STUDIES = "../pages/studies.py"
TITLED = 2  # names in a title


def show_title(names: Sequence[str], page: str, between: str = ", ") -> None:
    """'A, B and 2 more · Live · Pitwall'; the page alone where nothing is open."""
    more = f" and {len(names) - TITLED} more" if len(names) > TITLED else ""
    opened = f"{between.join(names[:TITLED])}{more} · " if names else ""
    st.set_page_config(page_title=f"{opened}{page} · Pitwall")
