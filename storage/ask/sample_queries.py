"""Stored samples as they are, table by table: for copies that answer like a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from storage.ask.queries import Asked
from storage.rows import TIME_COLUMNS


def samples_of(store: Asked, run_ids: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """Each sample table's name with its rows of these runs."""
    for table in TIME_COLUMNS if run_ids else ():
        yield table, store.query(f"FROM {table}_of($run_ids)", {"run_ids": list(run_ids)})


def metric_definitions(asked: Asked) -> pa.Table:
    """What each metric of each source means."""
    return asked.query("FROM raw.metric_definitions", {})
