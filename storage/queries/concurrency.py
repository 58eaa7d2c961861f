"""Threads for queries that do not depend on each other: DuckDB plans a statement on one core, for half of its time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

MOST_AT_ONCE = 4


def query_pool() -> ThreadPoolExecutor:
    """Return threads for the queries of one caller; as a context it waits for all of them when left."""
    return ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="query")
