"""Writes the readable parts of a damaged merged file to separate files."""

from __future__ import annotations

from pathlib import Path

import duckdb

from machine.private_files import private_folder
from storage.files.manifest import commit_to_disk, sha256_of
from storage.queries.literals import quoted

_PARTS = """
    SELECT path, row_count, merged_row FROM raw.sealed_files
    WHERE merged_path = ? AND lost_reason IS NULL ORDER BY merged_row
"""
_TAKE_OUT = """
    UPDATE raw.sealed_files SET merged_path = NULL, merged_row = NULL, merged_sha256 = NULL, sha256 = ? WHERE path = ?
"""


def save_parts(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, merged: str) -> None:
    """Save the readable parts of a merged file as separate files and record them, in the caller's transaction."""
    for path, rows, first in cursor.execute(_PARTS, [merged]).fetchall():
        if write_part(parquet_dir / merged, first, rows, parquet_dir / path):
            cursor.execute(_TAKE_OUT, [sha256_of(parquet_dir / path), path])


def write_part(merged: Path, first: int, rows: int, path: Path) -> bool:
    """Write a range of rows of a merged file to a file; False if not all of them can be read."""
    draft = private_folder(path.parent) / f"{path.stem}.draft"
    source = f"read_parquet({quoted(str(merged))}, hive_partitioning = false, file_row_number = true)"
    where = f"file_row_number BETWEEN {first} AND {first + rows - 1}"
    try:
        with duckdb.connect(config={"threads": 1}) as connection:
            selection = f"SELECT * EXCLUDE file_row_number FROM {source} WHERE {where}"
            copy = f"COPY ({selection}) TO {quoted(str(draft))} (FORMAT parquet, COMPRESSION zstd)"
            if connection.execute(copy).fetchone() != (rows,):
                return False
        commit_to_disk(draft, path)
        return True
    except duckdb.Error:
        return False
    finally:
        draft.unlink(missing_ok=True)
