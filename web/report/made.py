"""Reports as pages and links ask for them: of runs or of a study, made by whoever asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from domain import Run, Study
from reports.arms.comparison import Asking
from reports.arms.report_data import Made, ReportData, report_data
from settings import VERSION
from web.access.roles import MEMBERS, Role, person
from web.context import services
from web.live.log_reads import LogReads
from web.report.markdown import report_markdown
from web.report.page import report_page
from web.report.tables import as_zip, data_tables

LOG_LINES = 200
GUEST = "a guest of a shared link"


def maker(role: Role | None, name: str) -> str:
    """Who made a report, as it says so itself."""
    if role not in MEMBERS:
        return GUEST
    return person(role, name) if name else f"the {role}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """One report: of these runs, at least one, which whoever asks may see."""

    runs: Sequence[Run]
    maker: str
    asking: Asking | None = None
    study: Study | None = None

    def page(self) -> str:
        """With the end of the log of one run, as the Run page shows it."""
        data = self._data()
        if len(data.runs) != 1:
            return report_page(data)
        end = LogReads(limit=LOG_LINES).ends(data.runs).get(data.runs[0].id)
        return report_page(data, end.lines if end else ())

    def markdown(self) -> str:
        """For a pull request; nothing that a name or a log says is markup in it."""
        return report_markdown(self._data())

    def tables(self) -> bytes:
        """A zip with every table that has a row, as CSV and as Parquet."""
        return as_zip(data_tables(self._data()))

    def file_name(self) -> str:
        """'pitwall-report-vLLM-tiny-and-2-20261120-...'."""
        words = re.sub(r"[^A-Za-z0-9]+", "-", self.runs[0].name).strip("-")[:40]
        count = f"-and-{len(self.runs) - 1}" if len(self.runs) > 1 else ""
        return f"pitwall-report-{words or 'run'}{count}-{self.runs[0].id}"

    def _data(self) -> ReportData:
        made = Made(self.maker, datetime.now(UTC), VERSION)
        ids, prices = [run.id for run in self.runs], services().settings.prices_path
        return report_data(services().store, ids, made, prices, self.asking, self.study)
