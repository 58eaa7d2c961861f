"""Whether the store's own file is intact, checked before anything is written to it.

DuckDB opens a file whose blocks are damaged, and one whose write-ahead log is garbage, as if nothing were missing.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from settings import Settings
from storage.ask.literals import quoted
from storage.database import StoreError

# How DuckDB words it that the bytes of a file are wrong; a full disk or a newer format is no damage.
_WRONG_BYTES = re.compile(
    r"corrupt|checksum|not a valid DuckDB|could not read enough bytes|deseriali[sz]", re.IGNORECASE
)
NO_COPY = "There is no published copy: restore a backup into another folder (`./pitwall restore FILE`)."


class DamagedStoreError(StoreError):
    """The store's file cannot be read, or has lost commits; the sentence has the way out."""


def is_of_damage(error: BaseException) -> bool:
    """Whether this is DuckDB's word for a file whose bytes are wrong."""
    return bool(_WRONG_BYTES.search(str(error)))


def damaged(settings: Settings, what: str) -> DamagedStoreError:
    """The error that says what is wrong and how to go on."""
    return DamagedStoreError(f"The store {settings.store_path} is damaged: {what} {way_out(settings)}")


def way_out(settings: Settings) -> str:
    """What to do, and what is in the copy that it would use."""
    published = settings.published_path
    rows = count_published(published)
    try:
        written = datetime.fromtimestamp(published.stat().st_mtime, UTC)
    except FileNotFoundError:  # it went while its rows were counted
        rows = None
    if rows is None:
        return NO_COPY
    return (
        f"`./pitwall check --repair` sets it aside and makes it anew from the published copy of "
        f"{written:%Y-%m-%d %H:%M:%S} UTC, which has {rows:,} rows beside the sealed files."
    )


def count_published(path: Path) -> int | None:
    """The rows that the published copy holds itself; None where there is none that can be read."""
    try:
        with duckdb.connect(str(path), read_only=True) as copy:
            return _read_all(copy)
    except (duckdb.Error, OSError):
        return None


def published_commit(path: Path) -> int | None:
    """The number of the last commit in the published copy; None where there is none that can be read."""
    try:
        with duckdb.connect(str(path), read_only=True) as copy:
            return _commit(copy)
    except (duckdb.Error, OSError):
        return None


def look_for_damage(cursor: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Read the whole file once (rows that last are sealed, so it is small); raises DamagedStoreError."""
    try:
        _read_all(cursor)
        number = _commit(cursor)
    except duckdb.Error as error:
        if is_of_damage(error):
            raise damaged(settings, first_line(error)) from error
        raise
    published = published_commit(settings.published_path)
    if published is not None and published > number:
        raise damaged(settings, f"its last {published - number:,} commits are gone, and the published copy has them.")


def first_line(error: BaseException) -> str:
    """What DuckDB says, as one sentence."""
    return f"{str(error).splitlines()[0].rstrip('.!')}."


def _read_all(cursor: duckdb.DuckDBPyConnection) -> int:
    """Every column of every table, so that a damaged block shows itself; the number of rows."""
    tables = cursor.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'raw'").fetchall()
    counts = [f"SELECT count(*), count(hash(one)) FROM raw.{quoted_name(name)} AS one" for (name,) in tables]
    all_counts = " UNION ALL ".join(["SELECT 0 AS rows, 0 AS hashed", *counts])
    # Both are summed: a count that nobody asks for is not made, and its columns are not read.
    found = cursor.execute(f"SELECT sum(rows)::BIGINT, sum(hashed) FROM ({all_counts})").fetchone()
    assert found is not None
    return int(found[0])


def quoted_name(name: str) -> str:
    """A name as an identifier."""
    return '"' + quoted(name)[1:-1].replace('"', '""') + '"'


def _commit(cursor: duckdb.DuckDBPyConnection) -> int:
    row = cursor.execute("SELECT max(number) FROM raw.commits").fetchone()
    return int(row[0]) if row and row[0] is not None else 0
