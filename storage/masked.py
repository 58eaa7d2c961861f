"""Query answers that leave this machine: secrets in every text are masked, whatever was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from storage.ask.queries import Asked
from storage.transfer.bundle import masked_table


class Masked:
    """Asks a store and takes the secrets out of what it answers, as a bundle does."""

    def __init__(self, store: Asked, mask: Callable[[str], str]) -> None:
        """`mask` takes the secrets out of a text."""
        self._store = store
        self._mask = mask

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """The store's answer with every text masked but ids, hashes and definitions; raises what the store raises."""
        return masked_table(self._store.query(sql, params), self._mask)
