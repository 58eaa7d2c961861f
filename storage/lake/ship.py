"""One commit to the lake: sealed parts, record versions and their lines in the ledger, all of it or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from storage.ask.literals import literal, quoted
from storage.database import roll_back
from storage.files.manifest import sha256_of
from storage.lake.backlog import GONE, Key, Part, Record, of_first_runs, records, sealed_parts
from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import LAKE, errors_without_secrets, held, opened_lake
from storage.lake.layout import AUTHOR, OF_MACHINES, RECORDS, check_made, fit, version_table, wanted_columns
from storage.published_query import Query

MOST_RUNS, MOST_ROWS = 25, 2_000_000
MOST_RECORDS = 500
RUN_IDS = "hive_types = {'run_id': VARCHAR}"


@dataclass(slots=True)
class Known:
    """What this data folder knows to be in the lake, so that the ledger is read whole only once."""

    parts: set[Key] = field(default_factory=set)
    versions: dict[tuple[str, str], int] = field(default_factory=dict)  # table, id -> the newest, whosever it is
    own: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)  # likewise this folder's, and its sha256
    foreign: set[str] = field(default_factory=set)  # runs that another data folder ships


@dataclass(frozen=True, slots=True)
class Shipped:
    """What one commit took; `is_held` false: another process ships for this data folder."""

    parts: int = 0
    rows: int = 0
    records: int = 0
    is_held: bool = True


class Shipper:
    """Ships what a store has sealed; used by one thread at a time."""

    def __init__(
        self, config: LakeConfig, owner: str, query: Query, parquet_dir: Path, mask: Callable[[str], str]
    ) -> None:
        """`query` asks the store or its published file; `mask` takes the secrets out of a text."""
        self._config = config
        self._owner = owner
        self._query = query
        self._parquet_dir = parquet_dir
        self._mask = mask
        self._known: Known | None = None

    def waiting(self) -> list[Part]:
        """The parts that are not known to be in the lake; raises LakeError before the lake was reached once."""
        if self._known is None:
            raise LakeError("What waits is not known: the lake has not answered yet.")
        return self._unshipped(sealed_parts(self._query), self._known)

    def look(self, connection: duckdb.DuckDBPyConnection) -> list[Part]:
        """The parts that are not in the lake by its ledger; writes nothing. Raises duckdb.Error."""
        known = Known()
        self._take_lines(connection, f"owner = {quoted(self._owner)}", known)
        waiting = self._unshipped(sealed_parts(self._query), known)
        if waiting:
            self._look_up(connection, {part.run_id for part in waiting}, known)
        return self._unshipped(waiting, known)

    def has_work(self) -> bool:
        """Whether anything is not known to be in the lake."""
        known = self._known
        return known is None or bool(self._unshipped(sealed_parts(self._query), known) or self._changed(known))

    def ship(self, connection: duckdb.DuckDBPyConnection) -> Shipped:
        """One commit of what waits, at most 25 runs; of nothing where nothing waits. Raises LakeError.

        Looked up first: what the ledger has is not shipped again, nor a run that another data folder ships.
        """
        with (
            errors_without_secrets(self._config),
            held(connection, f"owner {self._owner}") as is_mine,
            held(connection, "upkeep", shared=True) as is_quiet,
        ):
            if not (is_mine and is_quiet):
                return Shipped(is_held=False)
            try:
                self._known = self._known or self._read_ledger(connection)
                while (done := self._commit(connection, self._known)) is None:
                    pass
                return done
            except BaseException:
                self._known = None  # whether the commit was taken is not known: the ledger says
                with suppress(duckdb.Error):
                    roll_back(connection)
                raise

    def _commit(self, connection: duckdb.DuckDBPyConnection, known: Known) -> Shipped | None:
        """None where the ledger had all of it already, which is known now."""
        waiting = of_first_runs(self._unshipped(sealed_parts(self._query), known), MOST_RUNS, MOST_ROWS)
        changed = self._changed(known)[:MOST_RECORDS]
        if not (waiting or changed):
            return Shipped()
        fit(connection, wanted_columns(self._query))
        connection.begin()
        self._look_up(connection, {*(part.run_id for part in waiting), *(one.id for one in changed)}, known)
        parts = [part for part in waiting if part.key not in known.parts and part.run_id not in known.foreign]
        fresh = [one for one in changed if one.id not in known.foreign and _is_new(one, known)]
        if not (parts or fresh):
            roll_back(connection)
            return None
        rows = self._insert_parts(connection, parts)
        versions = self._insert_records(connection, fresh, known)
        self._note(connection, [*self._lines(parts), *versions])
        connection.commit()
        known.parts |= {part.key for part in parts}
        for run_id, table, version, _, sha256 in versions:
            known.versions[table, run_id] = int(version)
            known.own[table, run_id] = (int(version), sha256)
        return Shipped(len(parts), rows, len(fresh))

    def _changed(self, known: Known) -> list[Record]:
        found = records(self._query, self._mask, known.foreign)
        return [one for one in found if _is_new(one, known) and (not one.is_deleted or ("runs", one.id) in known.own)]

    def _unshipped(self, parts: Sequence[Part], known: Known) -> list[Part]:
        return [part for part in parts if part.key not in known.parts and part.run_id not in known.foreign]

    def _read_ledger(self, connection: duckdb.DuckDBPyConnection) -> Known:
        known = Known()
        check_made(connection)
        fit(connection, wanted_columns(self._query))
        self._take_lines(connection, f"owner = {quoted(self._owner)}", known)
        return known

    def _look_up(self, connection: duckdb.DuckDBPyConnection, ids: set[str], known: Known) -> None:
        """What the ledger has of these runs and records, whoever shipped it; within the commit's transaction."""
        listed = ", ".join(quoted(one) for one in sorted(ids))
        self._take_lines(connection, f"run_id IN ({listed})", known)

    def _take_lines(self, connection: duckdb.DuckDBPyConnection, where: str, known: Known) -> None:
        sql = f"SELECT run_id, table_name, part, owner, sha256 FROM {LAKE}.shipments WHERE {where}"
        for run_id, table, part, owner, sha256 in connection.execute(sql).fetchall():
            is_own, key = owner == self._owner, (table, run_id)
            if table in RECORDS:
                known.versions[key] = max(known.versions.get(key, 0), int(part))
                if is_own:
                    known.own[key] = max(known.own.get(key, (0, "")), (int(part), sha256))
            elif is_own:
                known.parts.add((run_id, table, part))
            if not is_own and table not in OF_MACHINES:
                known.foreign.add(run_id)

    def _insert_parts(self, connection: duckdb.DuckDBPyConnection, parts: Sequence[Part]) -> int:
        """One insert a table, in the order of the files; the number of rows. LakeError where rows are missing."""
        tables: dict[str, list[Part]] = {}
        for part in parts:
            tables.setdefault(part.table_name, []).append(part)
        for table, its in tables.items():
            scan = " UNION ALL BY NAME ".join(self._scans(its))
            done = connection.execute(f"INSERT INTO {LAKE}.{table} BY NAME {scan}").fetchone()
            wanted = sum(part.row_count for part in its)
            if done is None or done[0] != wanted:
                raise LakeError(f"The sealed files of {table} have {done and done[0]} rows where {wanted} were sealed.")
        return sum(part.row_count for part in parts)

    def _scans(self, parts: Sequence[Part]) -> Iterator[str]:
        """The rows of the parts, those with files of their own first; of a merged file the parts' rows alone."""
        if own := [part for part in parts if part.first_row is None]:
            yield f"FROM read_parquet({self._paths(own)}, union_by_name = true, hive_partitioning = true, {RUN_IDS})"
        merged: dict[str, list[Part]] = {}
        for part in parts:
            if part.first_row is not None:
                merged.setdefault(part.file, []).append(part)
        for its in merged.values():
            scan = f"read_parquet({self._paths(its[:1])}, hive_partitioning = false, file_row_number = true)"
            rows = " OR ".join(
                f"file_row_number BETWEEN {part.first_row} AND {(part.first_row or 0) + part.row_count - 1}"
                for part in its
            )
            yield f"SELECT * EXCLUDE (file_row_number) FROM {scan} WHERE {rows}"

    def _paths(self, parts: Sequence[Part]) -> str:
        return literal([str(self._parquet_dir / part.file) for part in parts])

    def _lines(self, parts: Sequence[Part]) -> list[tuple[str, str, str, int, str]]:
        return [(*part.key, part.row_count, part.sha256 or sha256_of(self._parquet_dir / part.file)) for part in parts]

    def _insert_records(
        self, connection: duckdb.DuckDBPyConnection, fresh: Sequence[Record], known: Known
    ) -> list[tuple[str, str, str, int, str]]:
        """Append a version of each; its lines of the ledger."""
        lines = []
        for one in fresh:
            version = known.versions.get((one.table, one.id), 0) + 1
            lines.append((one.id, one.table, str(version), 1, one.sha256))
        for table in dict.fromkeys(one.table for one in fresh):
            its = [(one.row, line) for one, line in zip(fresh, lines, strict=True) if one.table == table]
            rows = pa.concat_tables([row for row, _ in its], promote_options="default")
            rows = rows.append_column("shipped_version", pa.array([int(line[2]) for _, line in its], pa.int64()))
            rows = rows.append_column("is_deleted", pa.array([line[4] == GONE for _, line in its]))
            self._append(connection, version_table(table), rows)
        return lines

    def _note(self, connection: duckdb.DuckDBPyConnection, lines: Sequence[tuple[str, str, str, int, str]]) -> None:
        """The ledger's lines, and the same keys for PostgreSQL's own look at the commit."""
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


def _is_new(record: Record, known: Known) -> bool:
    return known.own.get((record.table, record.id), (0, ""))[1] != record.sha256


def ship_all(shipper: Shipper, config: LakeConfig) -> Shipped:
    """Commit after commit until nothing waits; the sum. Raises LakeError."""
    total = Shipped()
    with opened_lake(config) as connection:
        while True:
            done = shipper.ship(connection)
            if not done.is_held:
                return Shipped(total.parts, total.rows, total.records, is_held=False)
            if not (done.parts or done.records):
                return total
            total = Shipped(total.parts + done.parts, total.rows + done.rows, total.records + done.records)
