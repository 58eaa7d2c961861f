"""A report as one HTML file that needs no network: the content of Compare or Run, interactive charts and all data."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from collectors.logs.log_view import ViewLine
from reports.arms.report_data import ReportData
from web import markup
from web.compare.answer.overview import Colors
from web.compare.sheet import colors_of
from web.report_export import sections
from web.report_export.chart_series import frontier_charts, time_charts
from web.report_export.tables import DataTable, data_tables

MOST_ROWS = 20_000  # per embedded table
STATIC = Path(__file__).resolve().parent.parent / "static"
Section = Callable[[ReportData, Colors], str]
SECTIONS: dict[str, tuple[Section, str | None]] = {  # title -> content, and the table behind it
    "Study": (sections.study, None),
    "": (sections.answers, "answers"),
    "Results": (sections.published, "results"),
    "Accuracy": (sections.accuracy, "accuracy"),
    "Same answers?": (sections.fidelity, "fidelity"),
    "Breakdown": (sections.parts, "kinds-of-prompt"),
    "Best by viewpoint": (sections.viewpoints, "viewpoints"),
    "One viewpoint against another": (sections.against, "viewpoints"),
    "Why it failed": (sections.causes, None),
    "Notes": (sections.people, "notes"),
    "Numbers": (sections.tiles, None),
    "All numbers": (sections.numbers, "numbers"),
    "Configuration differences": (sections.differing, "settings"),
    "Evidence for the numbers, run by run": (sections.evidence, None),
    "Physics": (sections.physics, None),
    "Over time since ready": (sections.charts, "windows"),
    "What happened": (sections.timeline, None),
    "Commands": (sections.commands, None),
    "Runs": (sections.runs, "runs"),
}


def report_page(data: ReportData, log_lines: Sequence[ViewLine] = ()) -> str:
    """Return the whole file. log_lines: the end of a single run's log, masked."""
    colors, tables = colors_of(data.comparison, data.runs), data_tables(data)
    names = {data_table.name for data_table in tables}
    parts = {
        title: _section(title, content, table if table in names else None)
        for title, (section, table) in SECTIONS.items()
        if (content := section(data, colors))
    }
    if log_lines:
        parts["End of the log"] = _section("End of the log", markup.log_lines(log_lines), None)
    title = sections.title(data)
    body = f"{sections.head(data, title)}{_contents(list(filter(None, parts)))}<main>{''.join(parts.values())}</main>"
    return _file(title, body, _embedded_numbers(data, colors, tables))


def _contents(titles: Sequence[str]) -> str:
    """Return links to the sections, in their order."""
    links = "".join(f'<a href="#{_anchor(title)}">{markup.text(title)}</a>' for title in titles)
    return f'<nav class="rp-contents" aria-label="Contents">{links}</nav>'


def _anchor(title: str) -> str:
    return re.sub(r"\W+", "-", title.lower())


def _section(title: str, content: str, table: str | None) -> str:
    """The CSV button of a table is shown by the script only."""
    csv = f'<button type="button" data-csv="{table}">CSV</button>' if table else ""
    head = (
        f'<h2 id="{_anchor(title)}">{markup.text(title)} {csv}</h2>'
        if title
        else csv and f'<p class="rp-made">{csv}</p>'
    )
    return f"<section>{content}{head}</section>" if not title else f"<section>{head}{content}</section>"


def _embedded_numbers(data: ReportData, colors: Colors, tables: Sequence[DataTable]) -> str:
    """JSON for a script element, escaped so that it cannot end the element."""
    provenance = {"by": data.provenance.by, "at": data.provenance.at.isoformat(), "version": data.provenance.version}
    payload = {
        "made": {**provenance, "runs": [run.id for run in data.runs]},
        "charts": time_charts(data, colors),
        "frontiers": frontier_charts(data, colors),
        "tables": {data_table.name: _embedded_table(data_table.rows) for data_table in tables},
    }
    text = json.dumps(_finite(payload), default=str, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value: Any) -> Any:
    """Replace infinite and NaN floats by None, which JSON can express."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _embedded_table(rows: pa.Table) -> dict[str, Any]:
    """Columns and rows; of a very long table only every n-th row (`every`), the downloads have all."""
    every = 1 + rows.num_rows // MOST_ROWS
    sampled = rows.take(list(range(0, rows.num_rows, every))) if every > 1 else rows
    columns = [column.to_pylist() for column in sampled.columns]
    return {"columns": rows.column_names, "rows": list(zip(*columns, strict=True)), "every": every}


def policy() -> str:
    """Return the Content-Security-Policy: the page runs its own script and fetches nothing."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    directives = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
    return directives + "form-action 'none'"


def _script() -> str:
    return (STATIC / "report" / "report.js").read_text()


def _file(title: str, body: str, numbers: str) -> str:
    """The HTML file; its own Content-Security-Policy allows only its script and no fetches."""
    style = (STATIC / "pitwall.css").read_text() + (STATIC / "report" / "report.css").read_text()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{markup.text(title)}</title><style>{style}</style></head>"
        f'<body class="pw-report">{body}<script type="application/json" id="report-data">{numbers}</script>'
        f"<script>{_script()}</script></body></html>\n"
    )
