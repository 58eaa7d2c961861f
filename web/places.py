"""The pages by name, as Streamlit finds them from web/shell.py."""

from __future__ import annotations

RUNS = "../pages/runs.py"
LIVE = "../pages/live.py"
LAUNCH = "../pages/launch.py"
COMPARE = "../pages/compare.py"
RUN = "../pages/run.py"
SHARED = "../pages/shared.py"
SQL = "../pages/sql.py"
