"""Sealed files that are missing or broken: found, left out of the views, named, and taken back once they are whole.

Nothing is deleted: a broken file stays where it is, and its rows are the only ones that are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from storage.reading import Query

MAGIC = b"PAR1"  # a Parquet file begins and ends with it
SMALLEST_BYTES = 2 * len(MAGIC) + 4
MISSING = "the file is missing"


class LostFile(NamedTuple):
    """A sealed file that is left out; `run_id` None: rows of no run."""

    path: str
    table_name: str
    run_id: str | None
    rows: int
    reason: str

    def sentence(self) -> str:
        owner = f"Run {self.run_id}" if self.run_id else "Rows of no run"
        return f"{owner}: {self.rows:,} rows of {self.table_name} are left out. {self.path}: {self.reason}."


Look = Callable[[Path, int], str | None]


def look_quickly(path: Path, rows: int) -> str | None:
    """Why a file is lost, by its two ends: 20 microseconds a file."""
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
            size_bytes = file.seek(0, 2)
            file.seek(max(0, size_bytes - len(MAGIC)))
            tail = file.read()
    except FileNotFoundError:
        return MISSING
    except OSError as error:
        return f"the file cannot be read: {error.strerror}"
    if size_bytes < SMALLEST_BYTES or head != MAGIC or tail != MAGIC:
        return f"the file is damaged: its {size_bytes:,} bytes are not a whole Parquet file"
    return None


def look_deeply(path: Path, rows: int) -> str | None:
    """Why a file is lost, read to its end."""
    if reason := look_quickly(path, rows):
        return reason
    try:
        with pq.ParquetFile(path) as file:
            found = sum(batch.num_rows for batch in file.iter_batches())
    except (OSError, pa.ArrowException, ValueError) as error:
        return f"the file is damaged: {str(error).splitlines()[0]}"
    return None if found == rows else f"the file has {found:,} of its {rows:,} rows"


def note_lost_files(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, look: Look = look_quickly) -> bool:
    """Look at every sealed file and write down which are lost, and which no more; whether anything has changed."""
    known = cursor.execute("SELECT path, row_count, lost_reason FROM raw.sealed_files").fetchall()
    seen = [(path, was, look(parquet_dir / path, rows)) for path, rows, was in known]
    changed = [(now, path) for path, was, now in seen if was != now]
    for row in changed:
        cursor.execute("UPDATE raw.sealed_files SET lost_reason = ? WHERE path = ?", list(row))
    return bool(changed)


def read_lost_files(query: Query) -> list[LostFile]:
    """Those that are left out now, by run; of the store or of its published copy."""
    rows = query(
        "SELECT path, table_name, run_id, row_count AS rows, lost_reason AS reason FROM raw.sealed_files "
        "WHERE lost_reason IS NOT NULL ORDER BY run_id, path"
    ).to_pylist()
    return [LostFile(**row) for row in rows]
