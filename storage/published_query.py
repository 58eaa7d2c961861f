"""Queries on the published file from any process; the owner uses `Store.query` in the same way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from storage.database import StoreError
from storage.whole_results import query_whole

Params = Sequence[Any] | Mapping[str, Any]
QUERY_FAILURES = (duckdb.Error, StoreError)  # raised by a query


class QueryFunction(Protocol):
    """Runs a statement and returns a table: a Store's `query`, or that of the published file."""

    def __call__(self, sql: str, params: Params | None = None) -> pa.Table: ...


def count_views(query: QueryFunction) -> dict[str, int]:
    """Return the row count of each view, reading all columns to detect missing or truncated files."""
    names = query("SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY 1")
    return {name: len(query(f"SELECT hash(COLUMNS(*)) FROM {name}")) for name in names["view_name"].to_pylist()}


@contextmanager
def published_query(path: Path) -> Iterator[QueryFunction]:
    """Open the current published file; raises StoreError if there is none."""
    if not path.exists():
        raise StoreError(f"There is no published file at {path}: is this the data folder, and has Pitwall run?")
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")

        def query(sql: str, params: Params | None = None) -> pa.Table:
            with connection.cursor() as cursor:
                return query_whole(cursor, sql, params)

        yield query
