"""The views as their comments describe them; docs/schema.md is this text."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from storage.ask.literals import as_name
from storage.catalog import define_views, migrate
from storage.published_query import Params, Query

HEAD = """# The views

Every number of Pitwall can be read with SQL: from `monitor.duckdb` in the data folder, which is published anew about
every two seconds and may be opened by anybody at any time (`duckdb -readonly monitor.duckdb`). Times are UTC. Unknown
is null, and `reason` or `metric_definitions` says why. This page is made by `./pitwall schema`.
"""
MACROS = """
One with `run_ids` reads the rows of these runs alone: `FROM run_windows(2, run_ids := ['<id>', '<id>'])`. The list is
written out, not a subquery; null means all runs. `WHERE run_id = '<id>'` over rates gives the same rows, but may read
those of every run.
"""
CONTRACT = ("runs", "engine_samples", "run_samples", "requests", "events", "gpu_samples", "host_samples")


def describe_new_store() -> str:
    """The views that this Pitwall makes, as Markdown; no data folder is read."""
    with duckdb.connect() as connection:
        migrate(connection)
        define_views(connection, Path())

        def query(sql: str, params: Params | None = None) -> pa.Table:
            return connection.execute(sql, params).to_arrow_table()

        return describe_schema(query)


def describe_schema(query: Query) -> str:
    """All views with their columns, and the table macros, as Markdown."""
    views = read_views(query)
    return "\n".join([HEAD, *(_view_section(rows) for rows in views.values()), _macro_section(query)])


def read_views(query: Query) -> dict[str, list[dict[str, Any]]]:
    """View -> its columns as {view, about, name, type, meaning}; the views for users first."""
    columns = query(
        "SELECT view_name AS view, v.comment AS about, column_name AS name, data_type AS type, c.comment AS meaning "
        "FROM duckdb_views() v JOIN duckdb_columns() c ON c.table_name = v.view_name AND c.schema_name = v.schema_name "
        "AND c.database_oid = v.database_oid "  # the publisher's template may be attached, with the same views
        "WHERE NOT v.internal AND v.schema_name = 'main' AND v.database_name = current_database() "
        "ORDER BY view_name, column_index"
    ).to_pylist()
    views = sorted({row["view"] for row in columns}, key=_contract_first)
    return {view: [row for row in columns if row["view"] == view] for view in views}


def _contract_first(view: str) -> tuple[int, str]:
    return CONTRACT.index(view) if view in CONTRACT else len(CONTRACT), view


def _view_section(rows: list[dict[str, Any]]) -> str:
    lines = [f"| {row['name']} | {row['type'].replace(' WITH TIME ZONE', 'TZ')} | {row['meaning']} |" for row in rows]
    return "\n".join(
        [f"## {rows[0]['view']}", rows[0]["about"], "", "| column | type | meaning |", "|---|---|---|", *lines, ""]
    )


def read_macros(query: Query) -> list[str]:
    """The table macros, one line each."""
    sql = "SELECT DISTINCT comment FROM duckdb_functions() WHERE NOT internal AND comment IS NOT NULL ORDER BY comment"
    comments: list[str] = query(sql)["comment"].to_pylist()
    return comments


def macro_columns(query: Query) -> dict[str, list[str]]:
    """Table macro -> the columns of its rows; none of one that cannot be described. They are bound, not asked."""
    found = query(
        "SELECT DISTINCT function_name AS name, comment FROM duckdb_functions() WHERE NOT internal "
        "AND function_type = 'table_macro' AND schema_name = 'main' AND comment IS NOT NULL ORDER BY name"
    )
    return {row["name"]: _columns_of(query, row["name"], row["comment"]) for row in found.to_pylist()}


def _columns_of(query: Query, name: str, comment: str) -> list[str]:
    """The comment begins with how it is called: 'run_windows(w, run_ids := null): ...'."""
    parameters = comment.partition("(")[2].partition(")")[0].split(",")
    needed = sum(bool(one.strip()) and ":=" not in one for one in parameters)
    for unknown in ("NULL", "NULL::TIMESTAMPTZ"):  # some reckon with a moment
        with suppress(duckdb.Error):
            columns = query(f"DESCRIBE FROM {as_name(name)}({', '.join([unknown] * needed)})")["column_name"]
            found: list[str] = columns.to_pylist()
            return found
    return []


def views_version(query: Query) -> str:
    """A checksum of all that the views and macros follow from; '' where none is known."""
    known = query("SELECT made_of FROM raw.view_texts")["made_of"].to_pylist()
    return str(known[0]) if known else ""


def _macro_section(query: Query) -> str:
    return "\n".join([f"## Table macros{MACROS}", *(f"- {text}" for text in read_macros(query)), ""])
