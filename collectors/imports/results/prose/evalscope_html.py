"""Reads the report that EvalScope's `perf` writes as HTML: the table of its levels."""

from __future__ import annotations

import re

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose.html_tables import read_html_tables
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import evalscope
from collectors.imports.results.tools.evalscope_console import add_report
from collectors.imports.results.tools.framed_tables import FramedTable

TITLE = re.compile(r"<title>Performance Report\b[^<]{0,400}</title>")
CHARTS = 'id="section-latency"'  # the section behind the tables
MAX_CHARS = 1_000_000


def recognise(head: str) -> bool:
    """Return whether a file begins like such a report."""
    return head[:200].lstrip().lower().startswith("<!doctype html") and TITLE.search(head[:4_000]) is not None


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a report; raises ImportRefusedError if it has no table of levels."""
    tables, _ = read_html_tables(source.text().partition(CHARTS)[0][:MAX_CHARS])
    load = LoadBuilder(ticket, evalscope.TOOL, None, evalscope.TOOL, ticket.file_date)
    add_report(load, [FramedTable(0, 0, [head.lower() for head in table.heads], table.rows) for table in tables])
    load.model = next((table.heads[1] for table in tables if table.heads[:1] == ["Model"] and table.heads[1:]), None)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is a report of EvalScope, but has no table of levels.")
    return [load]
