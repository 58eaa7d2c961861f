"""Merges small sealed files of ended runs into large ones, because each file costs every reader time to open.

A merged file holds the parts one after another, in the order of their runs, so that a reader of a few runs skips most
row groups. It is complete on disk before one transaction records which parts it holds. The old files stay for an hour,
for readers that have just opened a published file that names them.
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
from storage.ask.literals import quoted
from storage.database import StoreError
from storage.files.manifest import IN_FORCE, settle_on_disk, sha256_of

MERGED = "merged"
LEAST_FILES = 64
MOST_BYTES = 64 << 20
SMALL_BYTES = MOST_BYTES // 2  # what is larger stays as it is
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
    WHERE {IN_FORCE} = $file
"""


class SmallFile(NamedTuple):
    """A sealed file that may be merged with others of its table and columns."""

    table_name: str
    schema_number: int
    file: str
    first_run: str
    last_run: str
    rows: int


class Merged(NamedTuple):
    """A file that is complete on the disk and not written down yet."""

    path: str
    sha256: str
    files: Sequence[SmallFile]


def small_files(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, settled: datetime) -> list[list[SmallFile]]:
    """What to merge next, a list a file to be made; the runs ended before `settled`."""
    found = itertools.starmap(SmallFile, cursor.execute(_SMALL_FILES, {"settled": settled}).fetchall())
    alike = itertools.groupby(found, key=lambda one: (one.table_name, one.schema_number))
    groups = ([one for one in group if _size(parquet_dir / one.file) < SMALL_BYTES] for _, group in alike)
    chosen = [(list(_first_of(group, parquet_dir)), len(group)) for group in groups]
    return [files for files, there in chosen if len(files) >= LEAST_FILES or 1 < len(files) < there]


def _first_of(files: Sequence[SmallFile], parquet_dir: Path) -> Iterator[SmallFile]:
    """As many as one merged file may hold: fewer than there are only where they fill it."""
    room = MOST_BYTES
    for one in files:
        room -= _size(parquet_dir / one.file)
        if room < 0:
            return
        yield one


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return MOST_BYTES  # missing: the next look at the files finds that


def write_merged(parquet_dir: Path, files: Sequence[SmallFile]) -> Merged:
    """Write the rows of the files behind each other into one. Raises duckdb.Error or OSError, StoreError for a file
    that has not the rows it should have."""
    folder = private_folder(parquet_dir / files[0].table_name / MERGED)
    draft = folder / "merging.draft"
    try:
        rows = _copy([parquet_dir / one.file for one in files], draft)
        if rows != (expected := sum(one.rows for one in files)):
            raise StoreError(f"Sealed files of {files[0].table_name} have {rows:,} of their {expected:,} rows.")
        first, last = min(one.first_run for one in files), max(one.last_run for one in files)
        path, sha256 = _settled(draft, first, last)
    finally:
        draft.unlink(missing_ok=True)
    return Merged(str(path.relative_to(parquet_dir)), sha256, files)


def write_without(parquet_dir: Path, file: str, run_id: str, kept: Sequence[str], rows: int) -> tuple[str, str]:
    """Write a merged file anew without the rows of one run; the new name and checksum. `kept` are the other runs in it,
    `rows` how many these have together. Raises as `write_merged`."""
    draft = (parquet_dir / file).with_name("cutting.draft")
    try:
        if (found := _copy([parquet_dir / file], draft, f"WHERE run_id <> {quoted(run_id)}")) != rows:
            raise StoreError(f"{file} has {found:,} of the {rows:,} rows of its other runs.")
        path, sha256 = _settled(draft, min(kept), max(kept))
    finally:
        draft.unlink(missing_ok=True)
    return str(path.relative_to(parquet_dir)), sha256


def _settled(draft: Path, first: str, last: str) -> tuple[Path, str]:
    """The name of a merged file says its first and its last run."""
    sha256 = sha256_of(draft)
    path = draft.with_name(f"{first}..{last}..{sha256[:16]}.parquet")
    settle_on_disk(draft, path)
    return path, sha256


def _copy(files: Sequence[Path], draft: Path, where: str = "") -> int:
    """In a DuckDB of its own, of one thread: it may run beside a server that wants the cores."""
    names = ", ".join(quoted(str(path)) for path in files)
    how = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP_ROWS}"
    with duckdb.connect(config=LIMITS) as connection:
        copy = f"COPY (FROM read_parquet([{names}], hive_partitioning = false) {where}) TO {quoted(str(draft))} ({how})"
        done = connection.execute(copy).fetchone()
    assert done is not None
    return int(done[0])


def take_merged(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path, merged: Merged) -> None:
    """Write down, in the caller's transaction, that the parts lie in the merged file now."""
    row = 0
    for one in merged.files:
        part = None if f"/{MERGED}/" in one.file else sha256_of(parquet_dir / one.file)
        said = {"merged": merged.path, "sha256": merged.sha256, "row": row, "file": one.file, "part": part}
        cursor.execute(_MOVE, said)
        row += one.rows


def keep_an_hour(parquet_dir: Path, files: Iterable[str]) -> None:
    """The files are orphans now: their hour, in which nobody deletes them, begins."""
    for file in files:
        with suppress(FileNotFoundError):
            os.utime(parquet_dir / file)
