"""Imports a bundle completely or not at all; nothing in it is trusted.

Each table is rewritten column by column in this store's own types, and its files are recorded as sealed files in the
transaction that adds the runs.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from domain import Run
from machine.private_files import make_private, private_folder
from notes import Gotcha, RunNote
from settings import Settings
from storage.catalog import latest_schema
from storage.database import StoreError
from storage.files.seal import SealedDraft
from storage.queries.literals import quoted
from storage.rows import TIME_COLUMNS
from storage.store import Store
from storage.transfer.archive import Archive, ArchiveError, open_archive
from storage.transfer.bundle import LOCAL_FIELDS, NAMES, NOTES, RUN_ID
from storage.transfer.bundled_gotchas import gotchas_of
from storage.transfer.value_limits import column_filters, impossible_value, possible_times

MAX_ROWS = 50_000_000  # of one table of one run: four samples per second are 345,600 rows per day
MAX_TABLE_BYTES = 8 << 30  # uncompressed
FREE_ROWS = 100_000  # below this the size is not checked; the times of more rows take at least a byte each
SCRATCH = "SET TimeZone = 'UTC'; SET memory_limit = '2GB'; SET threads = 1; SET max_temp_directory_size = '4GB'"
NO_ROOM = re.compile("No space left|disk is full", re.IGNORECASE)
LOG = "server.log"
IDENTITY_FIELDS = ("created_at", "started_at", "ended_at", "state", "kind")  # fields that identify a run

Report = Callable[[float], None]


class BundleImport(NamedTuple):
    """The runs of a bundle, and the result in one sentence."""

    run_ids: tuple[str, ...]
    text: str


def import_bundle(store: Store, settings: Settings, path: Path, report: Report = lambda share: None) -> BundleImport:
    """Import a bundle's runs; existing runs are left unchanged. Raises ArchiveError or OSError."""
    with (
        _explained_when_full(path.name),
        open_archive(path, "bundle", latest_schema(), NAMES, settings.data_dir) as archive,
        tempfile.TemporaryDirectory(prefix=".bundle-", dir=settings.data_dir) as folder,
        duckdb.connect() as scratch,
    ):
        scratch.execute(f"{SCRATCH}; SET temp_directory = {quoted(folder)}")
        columns = {table: _columns(store, table) for table in TIME_COLUMNS}
        runs = _runs_of(archive)
        new_runs = [run for run in runs if not _is_stored(store, run, archive.name)]
        drafts, left_out = list[SealedDraft](), 0
        for number, run in enumerate(new_runs):
            tables = _tables_of(scratch, columns, archive, run, Path(folder) / run.id)
            drafts += [draft for draft, _ in tables]
            left_out += sum(count for _, count in tables)
            _extract_log(archive, run, Path(folder) / run.id)
            report((number + 1) / (len(new_runs) + 1))
        notes = [note for run in new_runs for note in _notes_of(archive, run)]
        gotchas = store.gotchas.select_new(gotchas_of(archive, new_runs))
        with store.adding_runs:
            is_new = not any(_is_stored(store, run, archive.name) for run in new_runs)
            if is_new:
                logged_runs = [_with_log(run, Path(folder) / run.id, settings.runs_dir) for run in new_runs]
                _add_runs(store, logged_runs, drafts, notes, gotchas)
    if not is_new:  # another import has added one of these runs meanwhile
        return import_bundle(store, settings, path, report)
    return BundleImport(tuple(run.id for run in runs), _summary(path.name, runs, new_runs, len(gotchas), left_out))


@contextmanager
def _explained_when_full(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, duckdb.Error) as error:
        if NO_ROOM.search(str(error)):
            raise ArchiveError(f"There is not enough disk space for {name}.") from error
        raise


def _add_runs(
    store: Store, runs: list[Run], drafts: list[SealedDraft], notes: list[RunNote], gotchas: list[Gotcha]
) -> None:
    try:
        store.adopt_runs(runs, drafts, notes, gotchas)
    except (OSError, duckdb.Error, StoreError):
        # A failed commit may have reached the disk: only logs of runs that the store lacks are removed.
        with suppress(OSError, duckdb.Error, StoreError):
            for log in [Path(run.log_path) for run in runs if run.log_path and store.run(run.id) is None]:
                log.unlink()
                log.parent.rmdir()
        raise


def _summary(name: str, runs: list[Run], new_runs: list[Run], gotchas: int, left_out: int) -> str:
    names = ", ".join(f"{run.name} ({run.id})" for run in new_runs or runs)
    if not new_runs:
        return f"{name} contains only runs that are already present: {names}."
    stored_text = f"; {len(runs) - len(new_runs)} of its runs were already present" if len(new_runs) < len(runs) else ""
    gotcha_text = f", with {gotchas} gotcha{'s' * (gotchas > 1)}" if gotchas else ""
    impossible = f"; {left_out:,} impossible value{'s' * (left_out > 1)} left out" if left_out else ""
    return f"{name} was verified; imported {names}{gotcha_text}{stored_text}{impossible}."


def _runs_of(archive: Archive) -> list[Run]:
    """The runs' records, in the order of the comparison."""
    ids = archive.manifest.runs
    owners = {match["run_id"] for name in archive.manifest.members if (match := NAMES.fullmatch(name))}
    if set(ids) != owners or len(set(ids)) != len(ids) or not all(RUN_ID.fullmatch(run_id) for run_id in ids):
        raise ArchiveError(f"{archive.name} is damaged or forged: its runs do not match its manifest.")
    return [_run_of(archive, run_id) for run_id in ids]


def _run_of(archive: Archive, run_id: str) -> Run:
    member = f"runs/{run_id}/run.json"
    if member not in archive.manifest.members:
        raise ArchiveError(f"{archive.name} is damaged or forged: the run {run_id} has no record.")
    try:
        run = Run.model_validate_json(archive.read(member))
    except ValidationError as error:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} is not a valid run.") from error
    if run.id != run_id or not run.state.is_final:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} belongs to another run, or to a live one.")
    if problem := impossible_value(run.model_dump()):
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} has an impossible {problem}.")
    return run.model_copy(update=LOCAL_FIELDS)


def _notes_of(archive: Archive, run: Run) -> list[RunNote]:
    """Every version of the notes on a run from elsewhere."""
    member = f"runs/{run.id}/notes.json"
    if member not in archive.manifest.members:
        return []
    try:
        notes = NOTES.validate_json(archive.read(member))
    except ValidationError as error:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} does not contain valid notes.") from error
    if problem := impossible_value([note.model_dump() for note in notes]):
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} has an impossible {problem}.")
    if [(note.run_id, note.version) for note in notes] != [(run.id, n + 1) for n in range(len(notes))]:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} belongs to another run, or is incomplete.")
    return notes


def _is_stored(store: Store, run: Run, name: str) -> bool:
    stored = store.run(run.id)
    if stored is None and store.bin.holds(run.id):
        raise ArchiveError(
            f"{name} is refused: {run.name} ({run.id}) was deleted here; it can be restored on Runs for a day."
        )
    if stored is None:
        return False
    if any(getattr(stored, field) != getattr(run, field) for field in IDENTITY_FIELDS):
        raise ArchiveError(f"{name} is refused: this store has a different run with the id {run.id}.")
    return True


def _tables_of(
    scratch: duckdb.DuckDBPyConnection,
    columns: Mapping[str, Mapping[str, str]],
    archive: Archive,
    run: Run,
    folder: Path,
) -> list[tuple[SealedDraft, int]]:
    """The run's tables, each with the number of values left out. columns: of each table of the store."""
    drafts = []
    for table in TIME_COLUMNS:
        member = f"runs/{run.id}/{table}.parquet"
        if member in archive.manifest.members:
            foreign_path, path = folder / f"{table}.given", folder / f"{table}.parquet"
            archive.extract(member, foreign_path)
            try:
                rows, left_out = _rewrite(scratch, foreign_path, path, table, run.id, columns[table])
            except (pa.ArrowException, duckdb.Error, OSError, ValueError) as error:
                message = str(error).splitlines()[0]
                if NO_ROOM.search(message):
                    raise
                raise ArchiveError(f"{archive.name} is damaged or forged: {member} ({message}).") from error
            foreign_path.unlink()
            drafts.append((SealedDraft(table, run.id, path, rows), left_out))
    return drafts


def _columns(store: Store, table: str) -> dict[str, str]:
    """Name -> type of a raw table, in order."""
    sql = "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'raw' AND table_name = ? "
    rows = store.query(sql + "ORDER BY column_index", [table]).to_pylist()
    return {row["column_name"]: row["data_type"] for row in rows}


def _rewrite(
    scratch: duckdb.DuckDBPyConnection,
    foreign_path: Path,
    path: Path,
    table: str,
    run_id: str,
    columns: Mapping[str, str],
) -> tuple[int, int]:
    """Rewrite a foreign table in this store's types; return the rows and the number of values left out.

    Raises ValueError for data that Pitwall cannot have written.
    """
    metadata = pq.read_metadata(foreign_path)
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if metadata.num_rows > MAX_ROWS or size > MAX_TABLE_BYTES:
        raise ValueError(f"{metadata.num_rows:,} rows of {size:,} bytes are too many for a run")
    if metadata.num_rows > max(FREE_ROWS, foreign_path.stat().st_size):
        raise ValueError(f"{metadata.num_rows:,} rows in {foreign_path.stat().st_size:,} bytes are impossible")
    foreign_columns = set(pq.read_schema(foreign_path).names)
    if unknown_columns := foreign_columns - columns.keys():
        raise ValueError(f"unknown column {min(unknown_columns)!r}")
    casts = ", ".join(
        f'"{c}"::{data_type} AS "{c}"' if c in foreign_columns else f'NULL::{data_type} AS "{c}"'
        for c, data_type in columns.items()
    )
    source = f"read_parquet({quoted(str(foreign_path))}, hive_partitioning = false)"
    filters = column_filters(table, columns)
    foreign_rows = scratch.execute(
        f"SELECT count(*) FROM {source} WHERE run_id IS DISTINCT FROM ?", [run_id]
    ).fetchone()
    if foreign_rows != (0,):
        raise ValueError("it contains rows of another run")
    scratch.execute(f"CREATE OR REPLACE VIEW foreign_table AS SELECT {casts} FROM {source}")
    impossible_time = scratch.execute(
        f"SELECT min(number) FROM (SELECT row_number() OVER () AS number, * FROM foreign_table) "
        f"WHERE NOT ({possible_times(columns)})"
    ).fetchone()
    if impossible_time and impossible_time[0] is not None:
        raise ValueError(f"row {impossible_time[0]} has an impossible time")
    select = f"SELECT {filters.columns} FROM foreign_table WHERE {filters.is_row} ORDER BY {TIME_COLUMNS[table]}"
    copy = f"COPY ({select}) TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)"
    result = scratch.execute(copy).fetchone()
    left_out = scratch.execute(f"SELECT {filters.left_out} FROM foreign_table").fetchone()
    assert result is not None
    assert left_out is not None
    return int(result[0]), int(left_out[0] or 0)


def _extract_log(archive: Archive, run: Run, folder: Path) -> None:
    member = f"runs/{run.id}/{LOG}"
    if member in archive.manifest.members:
        archive.extract(member, folder / LOG)


def _with_log(run: Run, folder: Path, runs_dir: Path) -> Run:
    """The run, with its log, if any, moved to this store's folder of logs."""
    if not (folder / LOG).exists():
        return run
    log = runs_dir / run.id / LOG
    private_folder(log.parent)
    make_private(folder / LOG)
    (folder / LOG).replace(log)
    return run.model_copy(update={"log_path": str(log)})
