"""Reference data as views whose SQL text holds the rows, so that the published file and the SQL page have them too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from reference.gpus import load_gpus
from reference.published import load_sources
from reference.statements import TABLES, read_table
from storage.ask.literals import quoted

TYPES: Mapping[str, str] = {
    **dict.fromkeys(("line", "concurrency", "runs", "sd_ddof", "input_tokens", "output_tokens"), "INTEGER"),
    **dict.fromkeys(("number", "sd", "stated", "tolerance", "bandwidth_gb_s", "memory_gb"), "DOUBLE"),
    **dict.fromkeys(("is_pass", "approximate"), "BOOLEAN"),
}
LEFT_OUT = ("cause_pattern", "flag")  # how a run's failure is recognised is ours
STANDING = "as published"


@cache
def reference_views_sql() -> str:
    """A view a table: reference_claims, reference_failures, ..."""
    tables = {name: _rows(name) for name in TABLES}
    tables |= {"sources": load_sources(), "gpus": [gpu._asdict() for gpu in load_gpus()]}
    return "\n".join(_view_sql(name, rows) for name, rows in tables.items())


def _view_sql(name: str, rows: list[dict[str, object]]) -> str:
    """The rows as one JSON text, which is read when the view is."""
    shape = json.dumps([{column: TYPES.get(column, "VARCHAR") for column in rows[0]}])
    known = [{column: value for column, value in row.items() if value is not None} for row in rows]
    text = json.dumps(known, ensure_ascii=False, separators=(",", ":"))  # it is read whenever the file is opened
    return (
        f"CREATE OR REPLACE VIEW reference_{name} AS SELECT r.*, {quoted(STANDING)} AS standing "
        f"FROM (SELECT unnest(from_json({quoted(text)}, {quoted(shape)})) AS r);"
    )


def _rows(name: str) -> list[dict[str, object]]:
    """Empty is null; of a measurement, what is no number ('low 90s') has none beside its text."""
    rows = [{k: v or None for k, v in row.items() if k not in LEFT_OUT} for row in read_table(name)]
    return [_with_number(row) if name == "measurements" else dict(row) for row in rows]


def _with_number(row: Mapping[str, str | None]) -> dict[str, object]:
    try:
        number = float(row["value"] or "")
    except ValueError:
        return {**row, "number": None}
    return {**row, "number": number}
