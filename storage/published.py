"""The published file with the query interface of the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from storage.database import StoreError
from storage.published_query import QueryFunction


class PublishedStore:
    """Runs the queries of `storage.queries` on an open published file."""

    def __init__(self, query: QueryFunction) -> None:
        self._query = query

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the rows; raises StoreError if an older Pitwall wrote the file without the requested views."""
        try:
            return self._query(sql, params)
        except duckdb.CatalogException as error:
            raise StoreError("An older Pitwall wrote the published file: start this version once.") from error
