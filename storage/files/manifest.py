"""The manifest of sealed files: one row per part, with the file that currently holds its rows."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import duckdb

from machine.private_files import make_private, private_folder

ORPHAN_AGE_S = 3600.0  # younger files may still have readers
NO_RUN = "__HIVE_DEFAULT_PARTITION__"  # Parquet readers treat it as a null run_id
CURRENT_FILE = "coalesce(merged_path, path)"  # the file that holds a part's rows
_RECORD = """
    INSERT INTO raw.sealed_files BY NAME
    SELECT $path AS path, $table_name AS table_name, $run_id AS run_id, $rows AS row_count, $now AS sealed_at,
        (SELECT max(number) FROM raw.migrations) AS schema_number, $sha256 AS sha256
"""


def new_path(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, table: str, run_id: str | None) -> Path:
    """Return the path with the next free number; it was never recorded, so an existing file may be overwritten."""
    folder = parquet_dir / table / f"run_id={run_id or NO_RUN}"
    private_folder(folder)
    sql = "SELECT count(*) FROM raw.sealed_files WHERE table_name = ? AND run_id IS NOT DISTINCT FROM ?"
    row = cursor.execute(sql, [table, run_id]).fetchone()
    assert row is not None
    return folder / f"{row[0] + 1}.parquet"


def record_part(
    cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, path: Path, run_id: str | None, rows: int, now: datetime
) -> None:
    """Record a part with a complete file, in the caller's transaction."""
    name = path.relative_to(parquet_dir)
    params = {"path": str(name), "table_name": name.parts[0], "run_id": run_id, "rows": rows, "now": now}
    cursor.execute(_RECORD, params | {"sha256": sha256_of(path)})


def current_files(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the files that the views read, relative to the Parquet folder."""
    sql = f"SELECT DISTINCT {CURRENT_FILE} AS file FROM raw.sealed_files WHERE lost_reason IS NULL ORDER BY file"
    return [file for (file,) in cursor.execute(sql).fetchall()]


def remove_orphans(
    cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, is_closing: Callable[[], bool] = lambda: False
) -> int:
    """Delete old unrecorded files, left by a kill or replaced by another file; return their number.

    Empty folders are removed too, because each costs time at every start. Stops early when `is_closing`.
    """
    recorded = {row[0] for row in cursor.execute(f"SELECT {CURRENT_FILE} FROM raw.sealed_files").fetchall()}
    in_use = {os.path.dirname(file) for file in recorded}  # noqa: PTH120 (of many thousands)
    removed = 0
    for folder, _, names in os.walk(parquet_dir, topdown=False):
        if is_closing():
            return removed
        below = folder[len(str(parquet_dir)) + 1 :]
        orphans = [Path(folder, name) for name in names if f"{below}/{name}" not in recorded]
        old_orphans = [path for path in orphans if _is_old(path)]
        for path in old_orphans:
            path.unlink()
        removed += len(old_orphans)
        if len(old_orphans) == len(names) and below and below not in in_use:
            with suppress(OSError):  # other folders are in it
                Path(folder).rmdir()
    return removed


def commit_to_disk(draft: Path, path: Path) -> None:
    """Rename a draft durably: sync the file, rename it, sync the folder."""
    make_private(draft)
    _fsync(draft)
    draft.replace(path)
    _fsync(path.parent)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fsync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > ORPHAN_AGE_S
