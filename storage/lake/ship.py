"""Ships to the lake: each commit contains sealed parts, record versions and their ledger entries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from storage.database import roll_back
from storage.files.manifest import sha256_of
from storage.lake.backlog import DELETED_MARK, Key, LakeRecord, SealedPart, first_runs, read_records, sealed_parts
from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import LAKE, advisory_lock, errors_without_secrets, opened_lake
from storage.lake.layout import (
    AUTHOR,
    MACHINE_TABLES,
    RECORDS,
    add_missing,
    check_initialised,
    required_columns,
    version_table,
)
from storage.published_query import QueryFunction
from storage.queries.literals import literal, quoted

MAX_RUNS, MAX_ROWS = 25, 2_000_000
MAX_RECORDS = 500
RUN_IDS = "hive_types = {'run_id': VARCHAR}"


@dataclass(slots=True)
class LedgerState:
    """The known contents of the lake, so that the ledger is read in full only once."""

    parts: set[Key] = field(default_factory=set)
    versions: dict[tuple[str, str], int] = field(default_factory=dict)  # table, id -> newest version by any folder
    own_versions: dict[tuple[str, str], tuple[int, str]] = field(
        default_factory=dict
    )  # table, id -> this folder's newest version and its sha256
    foreign_runs: set[str] = field(default_factory=set)  # runs that another data folder ships


@dataclass(frozen=True, slots=True)
class ShipResult:
    """The contents of one commit; `is_held` False: another process ships for this data folder."""

    parts: int = 0
    rows: int = 0
    records: int = 0
    is_held: bool = True


class Shipper:
    """Ships the sealed data of a store; used by one thread at a time."""

    def __init__(
        self, config: LakeConfig, owner: str, query: QueryFunction, parquet_dir: Path, mask: Callable[[str], str]
    ) -> None:
        """`query` reads the store or its published file; `mask` removes the secrets from a text."""
        self._config = config
        self._owner = owner
        self._query = query
        self._parquet_dir = parquet_dir
        self._mask = mask
        self._ledger: LedgerState | None = None

    def waiting(self) -> list[SealedPart]:
        """Return the parts not known to be in the lake; raises LakeError before the first contact with the lake."""
        if self._ledger is None:
            raise LakeError("The backlog is unknown: the lake has not answered yet.")
        return self._unshipped(sealed_parts(self._query), self._ledger)

    def look(self, connection: duckdb.DuckDBPyConnection) -> list[SealedPart]:
        """Return the parts missing from the lake's ledger; read-only. Raises duckdb.Error."""
        ledger = LedgerState()
        self._take_lines(connection, f"owner = {quoted(self._owner)}", ledger)
        waiting = self._unshipped(sealed_parts(self._query), ledger)
        if waiting:
            self._look_up(connection, {part.run_id for part in waiting}, ledger)
        return self._unshipped(waiting, ledger)

    def has_work(self) -> bool:
        """Whether any part or record is not known to be in the lake."""
        ledger = self._ledger
        return ledger is None or bool(self._unshipped(sealed_parts(self._query), ledger) or self._changed(ledger))

    def ship(self, connection: duckdb.DuckDBPyConnection) -> ShipResult:
        """Commit waiting data of at most 25 runs, if there is any. Raises LakeError.

        The ledger is checked first: nothing is shipped twice, nor a run that another data folder ships.
        """
        with (
            errors_without_secrets(self._config),
            advisory_lock(connection, f"owner {self._owner}") as is_mine,
            advisory_lock(connection, "upkeep", shared=True) as is_quiet,
        ):
            if not (is_mine and is_quiet):
                return ShipResult(is_held=False)
            try:
                self._ledger = self._ledger or self._read_ledger(connection)
                while (result := self._commit(connection, self._ledger)) is None:
                    pass
                return result
            except BaseException:
                self._ledger = None  # the outcome of the commit is unknown: read the ledger again
                with suppress(duckdb.Error):
                    roll_back(connection)
                raise

    def _commit(self, connection: duckdb.DuckDBPyConnection, ledger: LedgerState) -> ShipResult | None:
        """One commit; None if the ledger already had everything, which is now known."""
        waiting = first_runs(self._unshipped(sealed_parts(self._query), ledger), MAX_RUNS, MAX_ROWS)
        changed = self._changed(ledger)[:MAX_RECORDS]
        if not (waiting or changed):
            return ShipResult()
        add_missing(connection, required_columns(self._query))
        connection.begin()
        self._look_up(connection, {*(part.run_id for part in waiting), *(record.id for record in changed)}, ledger)
        parts = [part for part in waiting if part.key not in ledger.parts and part.run_id not in ledger.foreign_runs]
        new_records = [record for record in changed if record.id not in ledger.foreign_runs and _is_new(record, ledger)]
        if not (parts or new_records):
            roll_back(connection)
            return None
        rows = self._insert_parts(connection, parts)
        versions = self._insert_records(connection, new_records, ledger)
        self._note(connection, [*self._lines(parts), *versions])
        connection.commit()
        ledger.parts |= {part.key for part in parts}
        for run_id, table, version, _, sha256 in versions:
            ledger.versions[table, run_id] = int(version)
            ledger.own_versions[table, run_id] = (int(version), sha256)
        return ShipResult(len(parts), rows, len(new_records))

    def _changed(self, ledger: LedgerState) -> list[LakeRecord]:
        candidates = read_records(self._query, self._mask, ledger.foreign_runs)
        return [
            record
            for record in candidates
            if _is_new(record, ledger) and (not record.is_deleted or ("runs", record.id) in ledger.own_versions)
        ]

    def _unshipped(self, parts: Sequence[SealedPart], ledger: LedgerState) -> list[SealedPart]:
        return [part for part in parts if part.key not in ledger.parts and part.run_id not in ledger.foreign_runs]

    def _read_ledger(self, connection: duckdb.DuckDBPyConnection) -> LedgerState:
        ledger = LedgerState()
        check_initialised(connection)
        add_missing(connection, required_columns(self._query))
        self._take_lines(connection, f"owner = {quoted(self._owner)}", ledger)
        return ledger

    def _look_up(self, connection: duckdb.DuckDBPyConnection, ids: set[str], ledger: LedgerState) -> None:
        """Read the ledger entries of these runs and records from all folders, in the commit's transaction."""
        listed = ", ".join(quoted(id) for id in sorted(ids))
        self._take_lines(connection, f"run_id IN ({listed})", ledger)

    def _take_lines(self, connection: duckdb.DuckDBPyConnection, where: str, ledger: LedgerState) -> None:
        sql = f"SELECT run_id, table_name, part, owner, sha256 FROM {LAKE}.shipments WHERE {where}"
        for run_id, table, part, owner, sha256 in connection.execute(sql).fetchall():
            is_own, key = owner == self._owner, (table, run_id)
            if table in RECORDS:
                ledger.versions[key] = max(ledger.versions.get(key, 0), int(part))
                if is_own:
                    ledger.own_versions[key] = max(ledger.own_versions.get(key, (0, "")), (int(part), sha256))
            elif is_own:
                ledger.parts.add((run_id, table, part))
            if not is_own and table not in MACHINE_TABLES:
                ledger.foreign_runs.add(run_id)

    def _insert_parts(self, connection: duckdb.DuckDBPyConnection, parts: Sequence[SealedPart]) -> int:
        """Insert the parts table by table, in file order; return the row count. Raises LakeError for missing rows."""
        tables: dict[str, list[SealedPart]] = {}
        for part in parts:
            tables.setdefault(part.table_name, []).append(part)
        for table, table_parts in tables.items():
            scan = " UNION ALL BY NAME ".join(self._scans(table_parts))
            result = connection.execute(f"INSERT INTO {LAKE}.{table} BY NAME {scan}").fetchone()
            expected = sum(part.row_count for part in table_parts)
            if result is None or result[0] != expected:
                raise LakeError(
                    f"The sealed files of {table} have {result and result[0]} rows where {expected} were sealed."
                )
        return sum(part.row_count for part in parts)

    def _scans(self, parts: Sequence[SealedPart]) -> Iterator[str]:
        """The scans of the parts: unmerged files first, then the parts' rows of merged files."""
        if unmerged := [part for part in parts if part.first_row is None]:
            options = f"union_by_name = true, hive_partitioning = true, {RUN_IDS}"
            yield f"FROM read_parquet({self._paths(unmerged)}, {options})"
        merged: dict[str, list[SealedPart]] = {}
        for part in parts:
            if part.first_row is not None:
                merged.setdefault(part.file, []).append(part)
        for file_parts in merged.values():
            scan = f"read_parquet({self._paths(file_parts[:1])}, hive_partitioning = false, file_row_number = true)"
            rows = " OR ".join(
                f"file_row_number BETWEEN {part.first_row} AND {(part.first_row or 0) + part.row_count - 1}"
                for part in file_parts
            )
            yield f"SELECT * EXCLUDE (file_row_number) FROM {scan} WHERE {rows}"

    def _paths(self, parts: Sequence[SealedPart]) -> str:
        return literal([str(self._parquet_dir / part.file) for part in parts])

    def _lines(self, parts: Sequence[SealedPart]) -> list[tuple[str, str, str, int, str]]:
        return [(*part.key, part.row_count, part.sha256 or sha256_of(self._parquet_dir / part.file)) for part in parts]

    def _insert_records(
        self, connection: duckdb.DuckDBPyConnection, new_records: Sequence[LakeRecord], ledger: LedgerState
    ) -> list[tuple[str, str, str, int, str]]:
        """Append a version of each record; return the ledger entries."""
        lines = []
        for record in new_records:
            version = ledger.versions.get((record.table, record.id), 0) + 1
            lines.append((record.id, record.table, str(version), 1, record.sha256))
        for table in dict.fromkeys(record.table for record in new_records):
            table_records = [
                (record.row, line) for record, line in zip(new_records, lines, strict=True) if record.table == table
            ]
            rows = pa.concat_tables([row for row, _ in table_records], promote_options="default")
            rows = rows.append_column(
                "shipped_version", pa.array([int(line[2]) for _, line in table_records], pa.int64())
            )
            rows = rows.append_column("is_deleted", pa.array([line[4] == DELETED_MARK for _, line in table_records]))
            self._append(connection, version_table(table), rows)
        return lines

    def _note(self, connection: duckdb.DuckDBPyConnection, lines: Sequence[tuple[str, str, str, int, str]]) -> None:
        """Write the ledger entries, and the same keys for PostgreSQL's check of the commit."""
        columns = zip(*lines, strict=True)
        names = ("run_id", "table_name", "part", "row_count", "sha256")
        self._append(connection, "shipments", pa.table(dict(zip(names, columns, strict=True))))
        keys = quoted(json.dumps([line[:3] for line in lines]))
        owner = quoted(self._owner)
        connection.execute(f"CALL {LAKE}.set_commit_message('{AUTHOR}', {owner}, extra_info => {keys})")

    def _append(self, connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
        signed: Mapping[str, pa.Array] = {
            "owner": pa.array([self._owner] * rows.num_rows),
            "shipped_at": pa.array([datetime.now(UTC)] * rows.num_rows, pa.timestamp("us", tz="UTC")),
        }
        for name, values in signed.items():
            rows = rows.append_column(name, values)
        connection.register("incoming", rows)
        connection.execute(f"INSERT INTO {LAKE}.{table} BY NAME FROM incoming")
        connection.unregister("incoming")


def _is_new(record: LakeRecord, ledger: LedgerState) -> bool:
    return ledger.own_versions.get((record.table, record.id), (0, ""))[1] != record.sha256


def ship_all(shipper: Shipper, config: LakeConfig) -> ShipResult:
    """Commit after commit until nothing waits; the sum. Raises LakeError."""
    total = ShipResult()
    with opened_lake(config) as connection:
        while True:
            result = shipper.ship(connection)
            if not result.is_held:
                return ShipResult(total.parts, total.rows, total.records, is_held=False)
            if not (result.parts or result.records):
                return total
            total = ShipResult(total.parts + result.parts, total.rows + result.rows, total.records + result.records)
