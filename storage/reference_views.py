"""Reference data as views with the rows in their SQL text, so that the published file and the SQL page have them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from reference.gpus import load_gpus
from reference.published import load_sources
from reference.statements import TABLES, read_table
from storage.queries.literals import quoted

TYPES: Mapping[str, str] = {
    **dict.fromkeys(("line", "concurrency", "runs", "sd_ddof", "input_tokens", "output_tokens"), "INTEGER"),
    **dict.fromkeys(("number", "sd", "stated", "tolerance", "bandwidth_gb_s", "memory_gb"), "DOUBLE"),
    **dict.fromkeys(("is_pass", "approximate"), "BOOLEAN"),
}
HIDDEN_COLUMNS = ("cause_pattern", "flag")  # internal: they identify the failure of a run
STATUS = "as published"


@cache
def reference_views_sql() -> str:
    """The SQL of one view per table: reference_claims, reference_failures, ..."""
    tables = {name: _rows(name) for name in TABLES}
    tables |= {"sources": load_sources(), "gpus": [gpu._asdict() for gpu in load_gpus()]}
    return "\n".join(_view_sql(name, rows) for name, rows in tables.items())


def _view_sql(name: str, rows: list[dict[str, object]]) -> str:
    """A view over one JSON text, which is parsed when the view is read."""
    shape = json.dumps([{column: TYPES.get(column, "VARCHAR") for column in rows[0]}])
    filled = [{column: value for column, value in row.items() if value is not None} for row in rows]
    text = json.dumps(filled, ensure_ascii=False, separators=(",", ":"))  # parsed whenever the file is opened
    return (
        f"CREATE OR REPLACE VIEW reference_{name} AS SELECT r.*, {quoted(STATUS)} AS standing "
        f"FROM (SELECT unnest(from_json({quoted(text)}, {quoted(shape)})) AS r);"
    )


def _rows(name: str) -> list[dict[str, object]]:
    """Empty values are null; a measurement that is not a number ('low 90s') has its text only."""
    rows = [{k: v or None for k, v in row.items() if k not in HIDDEN_COLUMNS} for row in read_table(name)]
    return [_with_number(row) if name == "measurements" else dict(row) for row in rows]


def _with_number(row: Mapping[str, str | None]) -> dict[str, object]:
    try:
        number = float(row["value"] or "")
    except ValueError:
        return {**row, "number": None}
    return {**row, "number": number}
