"""Checks that the store's own file is intact before anything is written to it.

DuckDB opens a file with damaged blocks or a garbage write-ahead log without an error.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from settings import Settings
from storage.database import StoreError
from storage.queries.literals import as_name

# DuckDB's error texts for corrupt bytes; a full disk or a newer format is not damage.
_WRONG_BYTES = re.compile(
    r"corrupt|checksum|not a valid DuckDB|could not read enough bytes|deseriali[sz]", re.IGNORECASE
)
NO_COPY = "There is no published copy: restore a backup into another folder (`./pitwall restore FILE`)."


class DamagedStoreError(StoreError):
    """The store's file cannot be read or has lost commits; the message says how to repair it."""


def is_damage(error: BaseException) -> bool:
    """Whether DuckDB reports corrupt bytes."""
    return bool(_WRONG_BYTES.search(str(error)))


def damaged_error(settings: Settings, finding: str) -> DamagedStoreError:
    """The error with the finding and the way to repair it."""
    return DamagedStoreError(f"The store {settings.store_path} is damaged: {finding} {repair_advice(settings)}")


def repair_advice(settings: Settings) -> str:
    """How to repair the store, and what the published copy contains."""
    published = settings.published_path
    rows = count_published(published)
    try:
        published_at = datetime.fromtimestamp(published.stat().st_mtime, UTC)
    except FileNotFoundError:  # removed while its rows were counted
        rows = None
    if rows is None:
        return NO_COPY
    return (
        f"`./pitwall check --repair` sets it aside and rebuilds it from the published copy of "
        f"{published_at:%Y-%m-%d %H:%M:%S} UTC, which has {rows:,} rows beside the sealed files."
    )


def count_published(path: Path) -> int | None:
    """Return the number of rows inside the published copy; None if it cannot be read."""
    try:
        with duckdb.connect(str(path), read_only=True) as copy:
            return _read_all(copy)
    except (duckdb.Error, OSError):
        return None


def published_commit(path: Path) -> int | None:
    """Return the number of the last commit in the published copy; None if it cannot be read."""
    try:
        with duckdb.connect(str(path), read_only=True) as copy:
            return _commit(copy)
    except (duckdb.Error, OSError):
        return None


def look_for_damage(cursor: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Read the whole file once (old rows are sealed, so it is small); raises DamagedStoreError."""
    try:
        _read_all(cursor)
        number = _commit(cursor)
    except duckdb.Error as error:
        if is_damage(error):
            raise damaged_error(settings, first_line(error)) from error
        raise
    published_number = published_commit(settings.published_path)
    if published_number is not None and published_number > number:
        raise damaged_error(
            settings, f"its last {published_number - number:,} commits are missing, and the published copy has them."
        )


def first_line(error: BaseException) -> str:
    """The first line of DuckDB's error as one sentence."""
    return f"{str(error).splitlines()[0].rstrip('.!')}."


def _read_all(cursor: duckdb.DuckDBPyConnection) -> int:
    """Read every column of every table to detect damaged blocks; return the number of rows."""
    tables = cursor.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'").fetchall()
    counts = [f"SELECT count(*), count(hash(one)) FROM raw.{as_name(name)} AS one" for (name,) in tables]
    all_counts = " UNION ALL ".join(["SELECT 0 AS rows, 0 AS hashed", *counts])
    # Both are summed, because DuckDB skips an unused count and does not read its columns.
    totals = cursor.execute(f"SELECT sum(rows)::BIGINT, sum(hashed) FROM ({all_counts})").fetchone()
    assert totals is not None
    return int(totals[0])


def _commit(cursor: duckdb.DuckDBPyConnection) -> int:
    row = cursor.execute("SELECT max(number) FROM raw.commits").fetchone()
    return int(row[0]) if row and row[0] is not None else 0
