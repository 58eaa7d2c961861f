"""The pages by name, as Streamlit finds them from web/shell.py."""

from __future__ import annotations

# The paths of the browser's address, the first page's apart.
PATHS = ("live", "launch", "compare", "replay", "studies", "explore", "sql", "run", "shared")
REPORT = "report"  # a route of its own: no script of Streamlit runs there
SERIES = "series"  # likewise
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
