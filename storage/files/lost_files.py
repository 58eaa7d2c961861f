"""Missing and damaged sealed files: detected, reported, left out of the views, and used again once intact.

Nothing is deleted: a damaged file stays in place, and only its own rows are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from storage.files.manifest import CURRENT_FILE, sha256_of
from storage.files.salvage import save_parts
from storage.published_query import QueryFunction

MAGIC = b"PAR1"  # a Parquet file begins and ends with it
SMALLEST_BYTES = 2 * len(MAGIC) + 4
FILE_MISSING = "the file is missing"
_RECORDS = f"""
    SELECT {CURRENT_FILE} AS file, CASE WHEN max(merged_path) IS NULL THEN any_value(row_count) END,
        coalesce(any_value(merged_sha256), any_value(sha256)), max(lost_reason)
    FROM raw.sealed_files GROUP BY file ORDER BY file
"""


class LostFile(NamedTuple):
    """A sealed file left out of the views; `run_id` None: rows of no run."""

    path: str
    table_name: str
    run_id: str | None
    rows: int
    reason: str

    def sentence(self) -> str:
        """The run, the number of missing rows, the file and its problem."""
        owner = f"Run {self.run_id}" if self.run_id else "Rows of no run"
        return f"{owner}: {self.rows:,} rows of {self.table_name} are left out. {self.path}: {self.reason}."


class FileRecord(NamedTuple):
    """A file as recorded; `rows` None: it is merged; `sha256` None: an older version sealed it."""

    path: Path
    rows: int | None
    sha256: str | None


FileCheck = Callable[[FileRecord], str | None]


def check_ends(file: FileRecord) -> str | None:
    """Return why a file is lost, judged by both of its ends (20 microseconds per file); None if it looks intact."""
    try:
        with file.path.open("rb") as opened:
            head = opened.read(len(MAGIC))
            size_bytes = opened.seek(0, 2)
            opened.seek(max(0, size_bytes - len(MAGIC)))
            tail = opened.read()
    except FileNotFoundError:
        return FILE_MISSING
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    if size_bytes < SMALLEST_BYTES or head != MAGIC or tail != MAGIC:
        return f"the file is damaged: its {size_bytes:,} bytes are not a complete Parquet file"
    return None


def check_content(file: FileRecord) -> str | None:
    """Return why a file is lost, after reading it completely; None if it is intact."""
    if reason := check_ends(file):
        return reason
    try:
        with pq.ParquetFile(file.path) as opened:
            row_count = sum(batch.num_rows for batch in opened.iter_batches())
    except (OSError, pa.ArrowException, ValueError) as error:
        return f"the file is damaged: {str(error).splitlines()[0]}"
    if file.rows is not None and row_count != file.rows:
        return f"the file has {row_count:,} of its {file.rows:,} rows"
    if file.sha256 is not None and sha256_of(file.path) != file.sha256:
        return "the file is damaged: its checksum differs from the recorded one"
    return None


def record_lost_files(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, check: FileCheck = check_ends) -> bool:
    """Check every sealed file and record which are lost; return whether anything changed.

    The readable parts of a damaged merged file are saved as separate files.
    """
    records = cursor.execute(_RECORDS).fetchall()
    results = [
        (file, old_reason, _reason(FileRecord(parquet_dir / file, rows, sha256), old_reason, check))
        for file, rows, sha256, old_reason in records
    ]
    changed = [(file, reason) for file, was, reason in results if was != reason]
    for file, now in changed:
        if now and now != FILE_MISSING:
            save_parts(cursor, parquet_dir, file)
        cursor.execute(f"UPDATE raw.sealed_files SET lost_reason = ? WHERE {CURRENT_FILE} = ?", [now, file])
    return bool(changed)


def _reason(file: FileRecord, old_reason: str | None, check: FileCheck) -> str | None:
    """A lost file is accepted again only after it was read completely."""
    return check(file) or (check_content(file) if old_reason else None)


def read_lost_files(query: QueryFunction) -> list[LostFile]:
    """Return the files left out now, by run, from the store or its published copy."""
    rows = query(
        "SELECT path, table_name, run_id, row_count AS rows, lost_reason AS reason FROM raw.sealed_files "
        "WHERE lost_reason IS NOT NULL ORDER BY run_id, path"
    ).to_pylist()
    return [LostFile(**row) for row in rows]
