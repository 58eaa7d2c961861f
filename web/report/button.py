"""The button that gives the report of what a page shows: a page, Markdown, or its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import streamlit as st

from domain import Run, Study
from reports.comparison import Asking
from reports.report_data import Made, ReportData, report_data
from settings import VERSION
from web.actions import is_operator
from web.context import services
from web.live.log_reads import LogReads
from web.report.markdown import report_markdown
from web.report.page import report_page
from web.report.tables import DataTable, as_zip, data_tables

LOG_LINES = 200
OPERATOR, GUEST = "the operator", "a guest of a shared link"


def report_button(runs: Sequence[Run], page: str, asking: Asking | None = None, study: Study | None = None) -> None:
    """Of these runs, which are those that whoever looks may see; each file is made when its button is pressed."""
    if not runs:
        return
    told, maker = list(runs), OPERATOR if is_operator() else GUEST
    kinds: dict[str, tuple[str, str, Callable[[], str | bytes]]] = {
        "One page (HTML)": (".html", "text/html", lambda: _page(_data(told, maker, asking, study))),
        "Markdown": (".md", "text/markdown", lambda: report_markdown(_data(told, maker, asking, study))),
        "Tables (CSV, Parquet)": (".zip", "application/zip", lambda: as_zip(_tables(told, maker, asking, study))),
    }
    with st.popover("Report", icon=":material/description:", key=f"report-{page}"):
        st.caption("What this page says, as files that need no Pitwall; secrets masked.")
        for title, (suffix, mime, make) in kinds.items():
            name, key = f"{_file_name(told)}{suffix}", f"report-{page}{suffix}"
            st.download_button(title, data=make, file_name=name, mime=mime, on_click="ignore", key=key)


def _data(runs: Sequence[Run], maker: str, asking: Asking | None, study: Study | None) -> ReportData:
    made = Made(maker, datetime.now(UTC), VERSION)
    prices = services().settings.prices_path
    return report_data(services().store, [run.id for run in runs], made, prices, asking, study)


def _page(data: ReportData) -> str:
    """With the end of the log of one run, as the Run page shows it."""
    if len(data.runs) != 1:
        return report_page(data)
    end = LogReads(limit=LOG_LINES).ends(data.runs).get(data.runs[0].id)
    return report_page(data, end.lines if end else ())


def _tables(runs: Sequence[Run], maker: str, asking: Asking | None, study: Study | None) -> list[DataTable]:
    return data_tables(_data(runs, maker, asking, study))


def _file_name(runs: Sequence[Run]) -> str:
    """'pitwall-report-vLLM-tiny-and-2-20261120-...'."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", runs[0].name).strip("-")[:40]
    count = f"-and-{len(runs) - 1}" if len(runs) > 1 else ""
    return f"pitwall-report-{words or 'run'}{count}-{runs[0].id}"
