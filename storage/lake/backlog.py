"""The sealed parts and records of a store that the lake does not have yet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from storage.lake.layout import OF_MACHINES, RECORDS
from storage.published_query import Query
from storage.rows import run_of, run_table
from storage.transfer.bundle import portable

# A launched run without a folder came in a bundle before such runs were noted.
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
GONE = "deleted"  # in place of a checksum
NOTES = f"FROM run_notes WHERE run_id IN ({OWN_RUNS}) ORDER BY run_id"
DELETED = """
    SELECT run_id FROM raw.deleted_runs
    UNION SELECT run_id FROM raw.audit WHERE action = 'gone for good' AND run_id NOT IN (SELECT id FROM raw.runs)
    ORDER BY run_id
"""
RUNS = f"FROM raw.runs WHERE state <> 'queued' AND id IN ({OWN_RUNS}) ORDER BY id"

Key = tuple[str, str, str]  # run or record, table, part or version


class Part(NamedTuple):
    """A sealed part: its rows are those of `file`, or of a merged file those from `first_row`, below its folder.

    It keeps its name and its checksum when it is merged; the checksum is None where an older Pitwall sealed it.
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


class Record(NamedTuple):
    """A run, its notes, a machine or a label as it now stands, a row of its raw table; `sha256` is of its content.

    Of a run that was deleted the row has its id alone.
    """

    id: str
    table: str
    row: pa.Table
    sha256: str
    is_deleted: bool = False


def sealed_parts(query: Query) -> list[Part]:
    """The sealed files of this store's own runs, run by run, in the order of their sealing."""
    return [Part(**row) for row in query(PARTS).to_pylist()]


def records(query: Query, mask: Callable[[str], str], skipped: Collection[str] = ()) -> list[Record]:
    """Runs as they may leave this machine, without those to skip; machines and labels as they are."""
    rows = [row for row in query(RUNS).to_pylist() if row["id"] not in skipped]
    runs = [_record("runs", run.id, run_table(portable(run, mask))) for run in map(run_of, rows)]
    notes = [one for one in _rows_of(query, "run_notes", NOTES) if one.id not in skipped]
    of_machines = [one for table in OF_MACHINES for one in _rows_of(query, table, f"FROM raw.{table}")]
    return [*runs, *_deleted(query, skipped), *notes, *of_machines]


def _deleted(query: Query, skipped: Collection[str]) -> list[Record]:
    ids = [run_id for run_id in query(DELETED)["run_id"].to_pylist() if run_id not in skipped]
    return [Record(run_id, "runs", pa.table({"id": [run_id]}), GONE, is_deleted=True) for run_id in ids]


def _rows_of(query: Query, table: str, sql: str) -> list[Record]:
    rows = query(sql)
    return [_record(table, rows[RECORDS[table]][i].as_py(), rows.slice(i, 1)) for i in range(rows.num_rows)]


def _record(table: str, id: str, row: pa.Table) -> Record:
    content = json.dumps(_without_moments(row.to_pylist()[0]), sort_keys=True, default=str)
    return Record(id, table, row, hashlib.sha256(content.encode()).hexdigest())


def _without_moments(row: Mapping[str, Any]) -> dict[str, Any]:
    """A machine that only started again is no new version of it."""
    return {name: value for name, value in row.items() if name != "seen_at"}


def of_first_runs(parts: Sequence[Part], most_runs: int, most_rows: int) -> list[Part]:
    """The parts of the first runs, as many as one commit takes; one part at the least."""
    taken: list[Part] = []
    runs: set[str] = set()
    rows = 0
    for part in parts:
        runs.add(part.run_id)
        rows += part.row_count
        if taken and (len(runs) > most_runs or rows > most_rows):
            break
        taken.append(part)
    return taken
