"""Runs a statement whose result is fetched whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

# Streamed, as by default, a UNION ALL over shared subqueries can wait for ever for room in the buffer of its result:
# seen in DuckDB 1.5.5 with a day of samples and one thread.
UNBOUNDED_BUFFER = "SET streaming_buffer_size = '1TB'"


def query_whole(
    cursor: duckdb.DuckDBPyConnection, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None
) -> pa.Table:
    """Return the rows of a statement; raises duckdb.Error."""
    cursor.execute(UNBOUNDED_BUFFER)
    return cursor.execute(sql, params).to_arrow_table()
