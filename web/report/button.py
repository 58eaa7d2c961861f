"""The button that gives the report of what a page shows: a page, Markdown, or its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from domain import Run, Study
from reports.arms.comparison import Asking
from web.access.roles import current_name, current_role
from web.report.made import Wanted, maker


def report_button(runs: Sequence[Run], page: str, asking: Asking | None = None, study: Study | None = None) -> None:
    """Offer the report on these runs as files; the viewer must be allowed to see them. A press makes the file."""
    if not runs:
        return
    wanted = Wanted(list(runs), maker(current_role(), current_name()), asking, study)
    kinds: dict[str, tuple[str, str, Callable[[], str | bytes]]] = {
        "One page (HTML)": (".html", "text/html", wanted.page),
        "Markdown": (".md", "text/markdown", wanted.markdown),
        "Tables (CSV, Parquet)": (".zip", "application/zip", wanted.tables),
    }
    with st.popover("Report", icon=":material/description:", key=f"report-{page}"):
        st.caption("What this page says, as files that need no Pitwall; secrets masked.")
        for title, (suffix, mime, make) in kinds.items():
            name, key = f"{wanted.file_name()}{suffix}", f"report-{page}{suffix}"
            st.download_button(title, data=make, file_name=name, mime=mime, on_click="ignore", key=key)
