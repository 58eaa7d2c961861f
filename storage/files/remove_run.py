"""Removes the sealed rows of one run; merged files that it shares with other runs are rewritten."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import duckdb

from storage.files.manifest import CURRENT_FILE
from storage.files.merge import write_without

_FILES = f"SELECT DISTINCT {CURRENT_FILE} AS file FROM raw.sealed_files WHERE run_id = ?"
_OTHER_PARTS = """
    SELECT path, run_id, row_count, lost_reason FROM raw.sealed_files
    WHERE merged_path = ? AND run_id <> ? ORDER BY merged_row
"""
_MOVE = "UPDATE raw.sealed_files SET merged_path = ?, merged_row = ?, merged_sha256 = ? WHERE path = ?"


class SharedPart(NamedTuple):
    """The rows of another run in a merged file."""

    path: str
    run_id: str
    rows: int
    lost_reason: str | None


def remove_sealed_rows(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, run_id: str) -> list[str]:
    """Remove a run's sealed rows in the caller's transaction; return the files that are no longer referenced.

    Lost merged files stay unchanged. Raises duckdb.Error or OSError, and StoreError if a merged file does not have the
    recorded number of rows.
    """
    files = [file for (file,) in cursor.execute(_FILES, [run_id]).fetchall()]
    shared = [file for file in files if _rewrite(cursor, parquet_dir, file, run_id)]
    cursor.execute("DELETE FROM raw.sealed_files WHERE run_id = ?", [run_id])
    return shared + [file for file in files if not _is_referenced(cursor, file)]


def _rewrite(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, file: str, run_id: str) -> bool:
    parts = [SharedPart(*row) for row in cursor.execute(_OTHER_PARTS, [file, run_id]).fetchall()]
    if not parts or parts[0].lost_reason:
        return False
    rows = sum(part.rows for part in parts)
    name, sha256 = write_without(parquet_dir, file, run_id, [part.run_id for part in parts], rows)
    first = 0
    for part in parts:
        cursor.execute(_MOVE, [name, first, sha256, part.path])
        first += part.rows
    return True


def _is_referenced(cursor: duckdb.DuckDBPyConnection, file: str) -> bool:
    return cursor.execute(f"FROM raw.sealed_files WHERE {CURRENT_FILE} = ?", [file]).fetchone() is not None
