"""The sealed parts and records of a store that may be shipped to the lake."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from storage.lake.layout import MACHINE_TABLES, RECORDS
from storage.published_query import QueryFunction
from storage.rows import run_of, run_table
from storage.transfer.bundle import portable

# A launched run without a folder was imported from a bundle before imports were recorded.
OWN_RUNS = """
    SELECT id FROM raw.runs
    WHERE id NOT IN (SELECT run_id FROM raw.foreign_runs) AND NOT (kind = 'launched' AND run_dir IS NULL)
"""
PARTS = f"""
    SELECT run_id, table_name, parse_filename(path, true) AS part, row_count, sha256,
        coalesce(merged_path, path) AS file, merged_row AS first_row
    FROM raw.sealed_files WHERE lost_reason IS NULL AND run_id IN ({OWN_RUNS})
    ORDER BY run_id, table_name, length(part), part
"""
DELETED_MARK = "deleted"  # in place of a checksum
NOTES = f"FROM run_notes WHERE run_id IN ({OWN_RUNS}) ORDER BY run_id"
DELETED = """
    SELECT run_id FROM raw.deleted_runs
    UNION SELECT run_id FROM raw.audit WHERE action = 'gone for good' AND run_id NOT IN (SELECT id FROM raw.runs)
    ORDER BY run_id
"""
RUNS = f"FROM raw.runs WHERE state <> 'queued' AND id IN ({OWN_RUNS}) ORDER BY id"

Key = tuple[str, str, str]  # run or record, table, part or version


class SealedPart(NamedTuple):
    """A sealed part: all rows of `file`, or `row_count` rows of a merged file from `first_row`.

    Merging keeps its name and checksum; the checksum is None if an older version sealed it.
    """

    run_id: str
    table_name: str
    part: str
    row_count: int
    sha256: str | None
    file: str
    first_row: int | None

    @property
    def key(self) -> Key:
        return (self.run_id, self.table_name, self.part)


class LakeRecord(NamedTuple):
    """The current row of a run, its notes, a machine or a label, with the `sha256` of its content.

    The row of a deleted run has only its id.
    """

    id: str
    table: str
    row: pa.Table
    sha256: str
    is_deleted: bool = False


def sealed_parts(query: QueryFunction) -> list[SealedPart]:
    """Return the sealed parts of this store's own runs, by run and in the order of sealing."""
    return [SealedPart(**row) for row in query(PARTS).to_pylist()]


def read_records(query: QueryFunction, mask: Callable[[str], str], skipped: Collection[str] = ()) -> list[LakeRecord]:
    """Return runs with masked secrets, without skipped ones, and machines and labels unchanged."""
    rows = [row for row in query(RUNS).to_pylist() if row["id"] not in skipped]
    runs = [_record("runs", run.id, run_table(portable(run, mask))) for run in map(run_of, rows)]
    notes = [record for record in _table_records(query, "run_notes", NOTES) if record.id not in skipped]
    machine_records = [
        record for table in MACHINE_TABLES for record in _table_records(query, table, f"FROM raw.{table}")
    ]
    return [*runs, *_deleted_records(query, skipped), *notes, *machine_records]


def _deleted_records(query: QueryFunction, skipped: Collection[str]) -> list[LakeRecord]:
    ids = [run_id for run_id in query(DELETED)["run_id"].to_pylist() if run_id not in skipped]
    return [LakeRecord(run_id, "runs", pa.table({"id": [run_id]}), DELETED_MARK, is_deleted=True) for run_id in ids]


def _table_records(query: QueryFunction, table: str, sql: str) -> list[LakeRecord]:
    rows = query(sql)
    return [_record(table, rows[RECORDS[table]][i].as_py(), rows.slice(i, 1)) for i in range(rows.num_rows)]


def _record(table: str, id: str, row: pa.Table) -> LakeRecord:
    content = json.dumps(_without_times(row.to_pylist()[0]), sort_keys=True, default=str)
    return LakeRecord(id, table, row, hashlib.sha256(content.encode()).hexdigest())


def _without_times(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row without times, so that a mere restart of a machine is not a new version."""
    return {name: value for name, value in row.items() if name != "seen_at"}


def first_runs(parts: Sequence[SealedPart], max_runs: int, max_rows: int) -> list[SealedPart]:
    """Return the parts of the first runs within the limits of one commit; at least one part."""
    selected: list[SealedPart] = []
    runs: set[str] = set()
    rows = 0
    for part in parts:
        runs.add(part.run_id)
        rows += part.row_count
        if selected and (len(runs) > max_runs or rows > max_rows):
            break
        selected.append(part)
    return selected
