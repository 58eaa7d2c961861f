"""A report as one HTML file that needs no network: what Compare and Run show, its charts alive, its numbers inside."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from collectors.logs.log_view import ViewLine
from reports.arms.report_data import ReportData
from web import markup
from web.compare.answer.answer_cards import Colors
from web.compare.sheet import colors_of
from web.report import sections
from web.report.courses import courses, frontiers
from web.report.tables import DataTable, data_tables

MOST_ROWS = 20_000  # of one table inside the page
STATIC = Path(__file__).resolve().parent.parent / "static"
Section = Callable[[ReportData, Colors], str]
SECTIONS: dict[str, tuple[Section, str | None]] = {  # title -> what it holds, and the table that it is taken from
    "Study": (sections.study, None),
    "": (sections.answer, "answers"),
    "What it is made of": (sections.parts, "kinds-of-prompt"),
    "Best by viewpoint": (sections.viewpoints, "viewpoints"),
    "One viewpoint against another": (sections.against, "viewpoints"),
    "Why it failed": (sections.causes, None),
    "What people say": (sections.people, "notes"),
    "Numbers": (sections.tiles, None),
    "All numbers": (sections.numbers, "numbers"),
    "What differs in the configuration": (sections.differing, "settings"),
    "What the numbers rest on, run by run": (sections.evidence, None),
    "Physics": (sections.physics, None),
    "Over time since ready": (sections.charts, "windows"),
    "What happened": (sections.timeline, None),
    "Commands": (sections.commands, None),
    "Runs": (sections.runs, "runs"),
}


def report_page(data: ReportData, log_lines: Sequence[ViewLine] = ()) -> str:
    """The whole file. `log_lines`: the end of the one run's log, masked."""
    colors, tables = colors_of(data.comparison, data.runs), data_tables(data)
    names = {one.name for one in tables}
    body = "".join(
        _section(title, content, table if table in names else None)
        for title, (section, table) in SECTIONS.items()
        if (content := section(data, colors))
    )
    body += _section("The end of its log", markup.log_lines(log_lines), None) if log_lines else ""
    title = sections.title(data)
    return _file(title, f"{sections.head(data, title)}<main>{body}</main>", _numbers_inside(data, colors, tables))


def _section(title: str, content: str, table: str | None) -> str:
    """The button of a table is the script's: without scripts it is not there."""
    csv = f'<button type="button" data-csv="{table}">CSV</button>' if table else ""
    head = f"<h2>{markup.text(title)} {csv}</h2>" if title else csv and f'<p class="rp-made">{csv}</p>'
    return f"<section>{content}{head}</section>" if not title else f"<section>{head}{content}</section>"


def _numbers_inside(data: ReportData, colors: Colors, tables: Sequence[DataTable]) -> str:
    """JSON within a script element: nothing in it can end the element."""
    made = {"by": data.made.by, "at": data.made.at.isoformat(), "version": data.made.version}
    said = {
        "made": {**made, "runs": [run.id for run in data.runs]},
        "charts": courses(data, colors),
        "frontiers": frontiers(data, colors),
        "tables": {one.name: _inside(one.rows) for one in tables},
    }
    text = json.dumps(_finite(said), default=str, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value: Any) -> Any:
    """JSON has no number for what is infinite or none: it is not known."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _inside(rows: pa.Table) -> dict[str, Any]:
    """Columns and rows; of a very long table every n-th row, which `every` gives: its files have all."""
    every = 1 + rows.num_rows // MOST_ROWS
    kept = rows.take(list(range(0, rows.num_rows, every))) if every > 1 else rows
    columns = [column.to_pylist() for column in kept.columns]
    return {"columns": rows.column_names, "rows": list(zip(*columns, strict=True)), "every": every}


def policy() -> str:
    """What a browser may do for the page: run its own script, and fetch nothing."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    words = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
    return words + "form-action 'none'"


def _script() -> str:
    return (STATIC / "report" / "report.js").read_text()


def _file(title: str, body: str, numbers: str) -> str:
    """No script runs but ours, and nothing is fetched: the page says so to the browser itself."""
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
