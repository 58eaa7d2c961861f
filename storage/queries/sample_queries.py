"""Stored samples, table by table, for copies of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from storage.queries.run_data import Queryable
from storage.rows import TIME_COLUMNS


def samples_of(store: Queryable, run_ids: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and the rows of these runs for each sample table."""
    for table in TIME_COLUMNS if run_ids else ():
        yield table, store.query(f"FROM {table}_of($run_ids)", {"run_ids": list(run_ids)})


def metric_definitions(store: Queryable) -> pa.Table:
    """Return the meaning of each metric of each source."""
    return store.query("FROM raw.metric_definitions", {})
