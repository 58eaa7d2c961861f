"""The button that downloads a page's report as HTML, as Markdown or as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from domain import Run, Study
from reports.arms.comparison import ComparisonOptions
from web.access.roles import current_name, current_role
from web.report_export.report_files import ReportRequest, maker


def report_button(
    runs: Sequence[Run], page: str, options: ComparisonOptions | None = None, study: Study | None = None
) -> None:
    """Offer the report on these runs as files, created on a press; the caller ensures that the viewer may see them."""
    if not runs:
        return
    report_request = ReportRequest(list(runs), maker(current_role(), current_name()), options, study)
    kinds: dict[str, tuple[str, str, Callable[[], str | bytes]]] = {
        "One page (HTML)": (".html", "text/html", report_request.page),
        "Markdown": (".md", "text/markdown", report_request.markdown),
        "Tables (CSV, Parquet)": (".zip", "application/zip", report_request.tables),
    }
    with st.popover("Report", icon=":material/description:", key=f"report-{page}"):
        st.caption("The content of this page as files that can be read without Pitwall, with secrets masked.")
        for title, (suffix, mime, make) in kinds.items():
            name, key = f"{report_request.file_name()}{suffix}", f"report-{page}{suffix}"
            st.download_button(title, data=make, file_name=name, mime=mime, on_click="ignore", key=key)
