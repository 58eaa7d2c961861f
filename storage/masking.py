"""Masks secrets in query results that leave this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from storage.queries.run_data import Queryable
from storage.transfer.bundle import masked_table


class MaskedStore:
    """Queries a store and masks the secrets in its results, as a bundle does."""

    def __init__(self, store: Queryable, mask: Callable[[str], str]) -> None:
        """`mask` removes the secrets from a text."""
        self._store = store
        self._mask = mask

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the store's rows, all texts masked except ids, hashes and definitions; raises as the store does."""
        return masked_table(self._store.query(sql, params), self._mask)
