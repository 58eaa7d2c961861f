"""The pages' script paths relative to web/shell.py, their URL paths, and the titles of their browser tabs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

# URL paths; the first page has none.
PATHS = ("live", "launch", "compare", "replay", "studies", "explore", "issues", "sql", "run", "shared")
REPORT = "report"  # a plain HTTP route: no Streamlit script runs there
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
ISSUES = "../pages/issues.py"
MAX_TITLE_NAMES = 2  # names in a title


def show_title(names: Sequence[str], page: str, separator: str = ", ") -> None:
    """Set the browser tab's title: 'A, B and 2 more · Live · Pitwall', or the page alone without names."""
    more = f" and {len(names) - MAX_TITLE_NAMES} more" if len(names) > MAX_TITLE_NAMES else ""
    prefix = f"{separator.join(names[:MAX_TITLE_NAMES])}{more} · " if names else ""
    st.set_page_config(page_title=f"{prefix}{page} · Pitwall")
