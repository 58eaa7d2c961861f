"""The manifest of the sealed files: one row per part, with the file that holds the part's rows now."""

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

ORPHAN_AGE_S = 3600.0  # younger ones may be read by somebody right now
NO_RUN = "__HIVE_DEFAULT_PARTITION__"  # what Parquet readers take for a null run_id
IN_FORCE = "coalesce(merged_path, path)"  # the file that holds a part's rows
_RECORD = """
    INSERT INTO raw.sealed_files BY NAME
    SELECT $path AS path, $table_name AS table_name, $run_id AS run_id, $rows AS row_count, $now AS sealed_at,
        (SELECT max(number) FROM raw.migrations) AS schema_number, $sha256 AS sha256
"""


def new_path(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, table: str, run_id: str | None) -> Path:
    """The next free number; a file of that name was never recorded, so it may be overwritten."""
    folder = parquet_dir / table / f"run_id={run_id or NO_RUN}"
    private_folder(folder)
    sql = "SELECT count(*) FROM raw.sealed_files WHERE table_name = ? AND run_id IS NOT DISTINCT FROM ?"
    found = cursor.execute(sql, [table, run_id]).fetchone()
    assert found is not None
    return folder / f"{found[0] + 1}.parquet"


def record_part(
    cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, path: Path, run_id: str | None, rows: int, now: datetime
) -> None:
    """Write down a part whose file is complete, in the caller's transaction."""
    name = path.relative_to(parquet_dir)
    said = {"path": str(name), "table_name": name.parts[0], "run_id": run_id, "rows": rows, "now": now}
    cursor.execute(_RECORD, said | {"sha256": sha256_of(path)})


def files_in_force(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """The files that the views read, relative to the folder of Parquet files."""
    sql = f"SELECT DISTINCT {IN_FORCE} AS file FROM raw.sealed_files WHERE lost_reason IS NULL ORDER BY file"
    return [file for (file,) in cursor.execute(sql).fetchall()]


def remove_orphans(
    cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, is_over: Callable[[], bool] = lambda: False
) -> int:
    """Delete old files that are not written down: a kill left them, or another file has their rows now.

    Folders that hold nothing any more go too, for each costs time at every start. The number of files;
    fewer where it is over before the end.
    """
    recorded = {row[0] for row in cursor.execute(f"SELECT {IN_FORCE} FROM raw.sealed_files").fetchall()}
    in_use = {os.path.dirname(file) for file in recorded}  # noqa: PTH120 (of many thousands)
    removed = 0
    for folder, _, names in os.walk(parquet_dir, topdown=False):
        if is_over():
            return removed
        below = folder[len(str(parquet_dir)) + 1 :]
        orphans = [Path(folder, name) for name in names if f"{below}/{name}" not in recorded]
        old = [path for path in orphans if _is_old(path)]
        for path in old:
            path.unlink()
        removed += len(old)
        if len(old) == len(names) and below and below not in in_use:
            with suppress(OSError):  # other folders are in it
                Path(folder).rmdir()
    return removed


def settle_on_disk(draft: Path, path: Path) -> None:
    """The bytes first, then the name, then the folder that holds the name."""
    make_private(draft)
    _fsync(draft)
    draft.replace(path)
    _fsync(path.parent)


def sha256_of(path: Path) -> str:
    """The checksum of a file's bytes."""
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
