"""Report files of runs or of a study, as requested by pages and links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from domain import Run, Study
from reports.arms.comparison import ComparisonOptions
from reports.arms.report_data import ReportData, ReportProvenance, report_data
from settings import VERSION
from web.access.roles import MEMBERS, Role, person_label
from web.context import services
from web.live.log_reads import LogReads
from web.report_export.markdown import report_markdown
from web.report_export.page import report_page
from web.report_export.tables import as_zip, data_tables

LOG_LINES = 200
GUEST = "a guest of a shared link"


def maker(role: Role | None, name: str) -> str:
    """Return the author that a report names."""
    if role not in MEMBERS:
        return GUEST
    return person_label(role, name) if name else f"the {role}"


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A requested report of one or more runs that the requester may see."""

    runs: Sequence[Run]
    maker: str
    options: ComparisonOptions | None = None
    study: Study | None = None

    def page(self) -> str:
        """Return the HTML page; for a single run with the end of its log."""
        data = self._data()
        if len(data.runs) != 1:
            return report_page(data)
        end = LogReads(limit=LOG_LINES).ends(data.runs).get(data.runs[0].id)
        return report_page(data, end.lines if end else ())

    def markdown(self) -> str:
        """Return the report as Markdown; names and log texts are escaped."""
        return report_markdown(self._data())

    def tables(self) -> bytes:
        """Return a zip of every non-empty table as CSV and Parquet."""
        return as_zip(data_tables(self._data()))

    def file_name(self) -> str:
        """'pitwall-report-vLLM-tiny-and-2-20261120-...'."""
        name = re.sub(r"[^A-Za-z0-9]+", "-", self.runs[0].name).strip("-")[:40]
        count = f"-and-{len(self.runs) - 1}" if len(self.runs) > 1 else ""
        return f"pitwall-report-{name or 'run'}{count}-{self.runs[0].id}"

    def _data(self) -> ReportData:
        provenance = ReportProvenance(self.maker, datetime.now(UTC), VERSION)
        ids, prices = [run.id for run in self.runs], services().settings.prices_path
        return report_data(services().store, ids, provenance, prices, self.options, self.study)
