"""A store that notes of which runs it was asked for windows, the dearest rows to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from storage.store import Store


class CountedWindows:
    """The store, and of which runs it was asked for windows."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked: list[list[str]] = []

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        if "$window_s" in sql and params:
            self.asked.append(list(params["run_ids"]))
        return self._store.query(sql, params)
