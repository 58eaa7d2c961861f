"""Merges small sealed files of ended runs into large ones, because opening each file costs every reader time.

A merged file holds the parts one after another in run order, so that a reader of a few runs skips most row groups. It
is complete on disk before one transaction records its parts. The old files stay for an hour, for readers that have just
opened a published file that refers to them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import duckdb

from machine.private_files import private_folder
from storage.database import StoreError
from storage.files.manifest import CURRENT_FILE, commit_to_disk, sha256_of
from storage.queries.literals import quoted

MERGED = "merged"
MIN_FILES = 64
MAX_BYTES = 64 << 20
SMALL_BYTES = MAX_BYTES // 2  # larger files are not merged
ROW_GROUP_ROWS = 20_480
LIMITS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "512MB",
    "preserve_insertion_order": True,
}
_SMALL_FILES = Path(__file__).with_name("small_files.sql").read_text()
_MOVE = f"""
    UPDATE raw.sealed_files SET merged_path = $merged, merged_row = coalesce(merged_row, 0) + $row,
        merged_sha256 = $sha256, sha256 = CASE WHEN merged_path IS NULL THEN coalesce(sha256, $part) ELSE sha256 END
    WHERE {CURRENT_FILE} = $file
"""


class SmallFile(NamedTuple):
    """A sealed file that may be merged with others of its table and columns."""

    table_name: str
    schema_number: int
    file: str
    first_run: str
    last_run: str
    rows: int


class MergedFile(NamedTuple):
    """A file that is complete on disk but not recorded yet."""

    path: str
    sha256: str
    files: Sequence[SmallFile]


def small_files(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, ended_before: datetime) -> list[list[SmallFile]]:
    """Return the files to merge next, one list per merged file; their runs ended before `ended_before`."""
    small = itertools.starmap(SmallFile, cursor.execute(_SMALL_FILES, {"settled": ended_before}).fetchall())
    by_table = itertools.groupby(small, key=lambda file: (file.table_name, file.schema_number))
    groups = ([file for file in group if _size(parquet_dir / file.file) < SMALL_BYTES] for _, group in by_table)
    selections = [(list(_first_fitting(group, parquet_dir)), len(group)) for group in groups]
    return [
        selected for selected, group_size in selections if len(selected) >= MIN_FILES or 1 < len(selected) < group_size
    ]


def _first_fitting(files: Sequence[SmallFile], parquet_dir: Path) -> Iterator[SmallFile]:
    """The first files, up to the size limit of a merged file."""
    room_bytes = MAX_BYTES
    for file in files:
        room_bytes -= _size(parquet_dir / file.file)
        if room_bytes < 0:
            return
        yield file


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return MAX_BYTES  # a missing file is found by the next check


def write_merged(parquet_dir: Path, files: Sequence[SmallFile]) -> MergedFile:
    """Concatenate the files into one.

    Raises duckdb.Error or OSError, and StoreError if a file does not have the recorded number of rows.
    """
    folder = private_folder(parquet_dir / files[0].table_name / MERGED)
    draft = folder / "merging.draft"
    try:
        rows = _copy([parquet_dir / file.file for file in files], draft)
        if rows != (expected := sum(file.rows for file in files)):
            raise StoreError(f"Sealed files of {files[0].table_name} have {rows:,} of their {expected:,} rows.")
        first, last = min(file.first_run for file in files), max(file.last_run for file in files)
        path, sha256 = _commit_merged(draft, first, last)
    finally:
        draft.unlink(missing_ok=True)
    return MergedFile(str(path.relative_to(parquet_dir)), sha256, files)


def write_without(
    parquet_dir: Path, file: str, run_id: str, other_run_ids: Sequence[str], rows: int
) -> tuple[str, str]:
    """Rewrite a merged file without one run; return the new name and checksum.

    `other_run_ids` are the remaining runs, `rows` their total rows. Raises as `write_merged`.
    """
    draft = (parquet_dir / file).with_name("cutting.draft")
    try:
        if (row_count := _copy([parquet_dir / file], draft, f"WHERE run_id <> {quoted(run_id)}")) != rows:
            raise StoreError(f"{file} has {row_count:,} of the {rows:,} rows of its other runs.")
        path, sha256 = _commit_merged(draft, min(other_run_ids), max(other_run_ids))
    finally:
        draft.unlink(missing_ok=True)
    return str(path.relative_to(parquet_dir)), sha256


def _commit_merged(draft: Path, first: str, last: str) -> tuple[Path, str]:
    """Rename the draft to a name with its first and last run."""
    sha256 = sha256_of(draft)
    path = draft.with_name(f"{first}..{last}..{sha256[:16]}.parquet")
    commit_to_disk(draft, path)
    return path, sha256


def _copy(files: Sequence[Path], draft: Path, where: str = "") -> int:
    """Copy rows in a separate DuckDB with one thread, because servers may need the cores; return the row count."""
    names = ", ".join(quoted(str(path)) for path in files)
    options = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP_ROWS}"
    with duckdb.connect(config=LIMITS) as connection:
        rows = f"FROM read_parquet([{names}], hive_partitioning = false) {where}"
        result = connection.execute(f"COPY ({rows}) TO {quoted(str(draft))} ({options})").fetchone()
    assert result is not None
    return int(result[0])


def record_merged(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, merged: MergedFile) -> None:
    """Record, in the caller's transaction, that the merged file holds the parts."""
    row = 0
    for file in merged.files:
        part_sha256 = None if f"/{MERGED}/" in file.file else sha256_of(parquet_dir / file.file)
        params = {"merged": merged.path, "sha256": merged.sha256, "row": row, "file": file.file, "part": part_sha256}
        cursor.execute(_MOVE, params)
        row += file.rows


def start_grace_period(parquet_dir: Path, files: Iterable[str]) -> None:
    """Start the hour during which these new orphans are not deleted."""
    for file in files:
        with suppress(FileNotFoundError):
            os.utime(parquet_dir / file)
