"""The published file with the query interface of the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from storage.database import StoreError
from storage.published_query import Query


class Published:
    """Answers `storage.ask`'s questions from an open published file."""

    def __init__(self, query: Query) -> None:
        self._query = query

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Raises StoreError where the file was written by a Pitwall that did not have what is asked for."""
        try:
            return self._query(sql, params)
        except duckdb.CatalogException as error:
            raise StoreError("The published file is of an older Pitwall: start this one once.") from error
