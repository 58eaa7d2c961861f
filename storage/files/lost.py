"""Sealed files that are missing or damaged: detected, named, left out of the views, and used again once intact.

Nothing is deleted: a damaged file stays where it is, and only its own rows are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from storage.files.manifest import IN_FORCE, sha256_of
from storage.files.salvage import save_parts
from storage.published_query import Query

MAGIC = b"PAR1"  # a Parquet file begins and ends with it
SMALLEST_BYTES = 2 * len(MAGIC) + 4
MISSING = "the file is missing"
_KNOWN = f"""
    SELECT {IN_FORCE} AS file, CASE WHEN max(merged_path) IS NULL THEN any_value(row_count) END,
        coalesce(any_value(merged_sha256), any_value(sha256)), max(lost_reason)
    FROM raw.sealed_files GROUP BY file ORDER BY file
"""


class LostFile(NamedTuple):
    """A sealed file that is left out; `run_id` None: rows of no run."""

    path: str
    table_name: str
    run_id: str | None
    rows: int
    reason: str

    def sentence(self) -> str:
        """Which run lacks how many rows, which file held them, and what is wrong with it."""
        owner = f"Run {self.run_id}" if self.run_id else "Rows of no run"
        return f"{owner}: {self.rows:,} rows of {self.table_name} are left out. {self.path}: {self.reason}."


class Recorded(NamedTuple):
    """A file as it is written down; `rows` None: of a merged one, `sha256` None: an older Pitwall sealed it."""

    path: Path
    rows: int | None
    sha256: str | None


Look = Callable[[Recorded], str | None]


def look_quickly(file: Recorded) -> str | None:
    """Why a file is lost, by its two ends: 20 microseconds a file."""
    try:
        with file.path.open("rb") as opened:
            head = opened.read(len(MAGIC))
            size_bytes = opened.seek(0, 2)
            opened.seek(max(0, size_bytes - len(MAGIC)))
            tail = opened.read()
    except FileNotFoundError:
        return MISSING
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    if size_bytes < SMALLEST_BYTES or head != MAGIC or tail != MAGIC:
        return f"the file is damaged: its {size_bytes:,} bytes are not a whole Parquet file"
    return None


def look_deeply(file: Recorded) -> str | None:
    """Why a file is lost, read to its end."""
    if reason := look_quickly(file):
        return reason
    try:
        with pq.ParquetFile(file.path) as opened:
            found = sum(batch.num_rows for batch in opened.iter_batches())
    except (OSError, pa.ArrowException, ValueError) as error:
        return f"the file is damaged: {str(error).splitlines()[0]}"
    if file.rows is not None and found != file.rows:
        return f"the file has {found:,} of its {file.rows:,} rows"
    if file.sha256 is not None and sha256_of(file.path) != file.sha256:
        return "the file is damaged: its checksum is not the one that was written down"
    return None


def note_lost_files(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, look: Look = look_quickly) -> bool:
    """Look at every sealed file and write down which are lost, and which no more; whether anything has changed.

    What can still be read of a damaged merged file becomes files of its own.
    """
    known = cursor.execute(_KNOWN).fetchall()
    seen = [
        (file, was, _reason(Recorded(parquet_dir / file, rows, sha256), was, look)) for file, rows, sha256, was in known
    ]
    changed = [(file, now) for file, was, now in seen if was != now]
    for file, now in changed:
        if now and now != MISSING:
            save_parts(cursor, parquet_dir, file)
        cursor.execute(f"UPDATE raw.sealed_files SET lost_reason = ? WHERE {IN_FORCE} = ?", [now, file])
    return bool(changed)


def _reason(file: Recorded, was: str | None, look: Look) -> str | None:
    """A file that was lost is taken back only after it was read to its end."""
    return look(file) or (look_deeply(file) if was else None)


def read_lost_files(query: Query) -> list[LostFile]:
    """Those that are left out now, by run; of the store or of its published copy."""
    rows = query(
        "SELECT path, table_name, run_id, row_count AS rows, lost_reason AS reason FROM raw.sealed_files "
        "WHERE lost_reason IS NOT NULL ORDER BY run_id, path"
    ).to_pylist()
    return [LostFile(**row) for row in rows]
