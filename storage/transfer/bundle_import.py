"""Imports a bundle whole or not at all; nothing in it is trusted.

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
from storage.ask.literals import quoted
from storage.catalog import latest_schema
from storage.database import StoreError
from storage.files.seal import SealedDraft
from storage.rows import TIME_COLUMNS
from storage.store import Store
from storage.transfer.archive import Archive, ArchiveError, opened_archive
from storage.transfer.bundle import LOCAL, NAMES, NOTES, RUN_ID
from storage.transfer.bundled_gotchas import gotchas_of
from storage.transfer.impossible import sifted

MOST_ROWS = 50_000_000  # of one table of one run: a year of four samples a second is 126 million, a day 345,600
MOST_TABLE_BYTES = 8 << 30  # unpacked
FREE_ROWS = 100_000  # so many may be as alike as they like; more take a byte each at the least, their times alone do
SCRATCH = "SET TimeZone = 'UTC'; SET memory_limit = '2GB'; SET threads = 1; SET max_temp_directory_size = '4GB'"
NO_ROOM = re.compile("No space left|disk is full", re.IGNORECASE)
LOG = "server.log"
SAME = ("created_at", "started_at", "ended_at", "state", "kind")  # what makes two records one run

Report = Callable[[float], None]


class Taken(NamedTuple):
    """Which runs a bundle holds, and what was done in one sentence."""

    run_ids: tuple[str, ...]
    text: str


def import_bundle(store: Store, settings: Settings, path: Path, report: Report = lambda share: None) -> Taken:
    """Import a bundle's runs; existing runs are left unchanged. Raises ArchiveError or OSError."""
    with (
        _explained_when_full(path.name),
        opened_archive(path, "bundle", latest_schema(), NAMES, settings.data_dir) as archive,
        tempfile.TemporaryDirectory(prefix=".bundle-", dir=settings.data_dir) as folder,
    ):
        runs = _runs_of(archive)
        new = [run for run in runs if not _is_known(store, run, archive.name)]
        drafts, left_out = list[SealedDraft](), 0
        for number, run in enumerate(new):
            tables = _tables_of(store, archive, run, Path(folder) / run.id)
            drafts += [draft for draft, _ in tables]
            left_out += sum(count for _, count in tables)
            _extract_log(archive, run, Path(folder) / run.id)
            report((number + 1) / (len(new) + 1))
        notes = [note for run in new for note in _notes_of(archive, run)]
        gotchas = store.gotchas.unknown(gotchas_of(archive, new))
        _take(store, [_with_log(run, Path(folder) / run.id, settings.runs_dir) for run in new], drafts, notes, gotchas)
    return Taken(tuple(run.id for run in runs), _words(path.name, runs, new, len(gotchas), left_out))


@contextmanager
def _explained_when_full(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, duckdb.Error) as error:
        if NO_ROOM.search(str(error)):
            raise ArchiveError(f"There is not enough room on the disk for {name}.") from error
        raise


def _take(
    store: Store, runs: list[Run], drafts: list[SealedDraft], notes: list[RunNote], gotchas: list[Gotcha]
) -> None:
    try:
        store.take_sealed(runs, drafts, notes, gotchas)
    except (OSError, duckdb.Error, StoreError):
        # A commit that fails may have reached the disk all the same: only what the store has no run for is not needed.
        with suppress(OSError, duckdb.Error, StoreError):
            for log in [Path(run.log_path) for run in runs if run.log_path and store.run(run.id) is None]:
                log.unlink()
                log.parent.rmdir()
        raise


def _words(name: str, runs: list[Run], new: list[Run], gotchas: int, left_out: int) -> str:
    names = ", ".join(f"{run.name} ({run.id})" for run in new or runs)
    if not new:
        return f"{name} is known: it holds {names}; nothing in it is new."
    rest = f"; {len(runs) - len(new)} of its runs were known" if len(new) < len(runs) else ""
    kept = f", with {gotchas} gotcha{'s' * (gotchas > 1)}" if gotchas else ""
    impossible = f"; left out as impossible: {left_out:,} value{'s' * (left_out > 1)}" if left_out else ""
    return f"{name} was verified and brought {names}{kept}{rest}{impossible}."


def _runs_of(archive: Archive) -> list[Run]:
    """The runs' records, in the order of the comparison."""
    ids = archive.manifest.runs
    owners = {match["run_id"] for name in archive.manifest.members if (match := NAMES.fullmatch(name))}
    if set(ids) != owners or len(set(ids)) != len(ids) or not all(RUN_ID.fullmatch(run_id) for run_id in ids):
        raise ArchiveError(f"{archive.name} is damaged or forged: its runs are not those of its manifest.")
    return [_run_of(archive, run_id) for run_id in ids]


def _run_of(archive: Archive, run_id: str) -> Run:
    member = f"runs/{run_id}/run.json"
    if member not in archive.manifest.members:
        raise ArchiveError(f"{archive.name} is damaged or forged: the run {run_id} has no record.")
    try:
        run = Run.model_validate_json(archive.read(member))
    except ValidationError as error:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} is no record of a run.") from error
    if run.id != run_id or not run.state.is_final:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} is of another run, or of one not over.")
    return run.model_copy(update=LOCAL)


def _notes_of(archive: Archive, run: Run) -> list[RunNote]:
    """What people said of a run elsewhere, every version."""
    member = f"runs/{run.id}/notes.json"
    if member not in archive.manifest.members:
        return []
    try:
        notes = NOTES.validate_json(archive.read(member))
    except ValidationError as error:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} holds no notes.") from error
    if [(note.run_id, note.version) for note in notes] != [(run.id, n + 1) for n in range(len(notes))]:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} is of another run, or incomplete.")
    return notes


def _is_known(store: Store, run: Run, name: str) -> bool:
    known = store.run(run.id)
    if known is None and store.bin.holds(run.id):
        raise ArchiveError(f"{name} is refused: {run.name} ({run.id}) was deleted here; Runs brings it back for a day.")
    if known is None:
        return False
    if any(getattr(known, field) != getattr(run, field) for field in SAME):
        raise ArchiveError(f"{name} is refused: this Pitwall has another run of the id {run.id}.")
    return True


def _tables_of(store: Store, archive: Archive, run: Run, folder: Path) -> list[tuple[SealedDraft, int]]:
    """Its tables, and how many values of each are left out."""
    drafts = []
    for table in TIME_COLUMNS:
        member = f"runs/{run.id}/{table}.parquet"
        if member in archive.manifest.members:
            given, made = folder / f"{table}.given", folder / f"{table}.parquet"
            archive.extract(member, given)
            try:
                rows, left_out = _rewrite(given, made, table, run.id, _columns(store, table))
            except (pa.ArrowException, duckdb.Error, OSError, ValueError) as error:
                said = str(error).splitlines()[0]
                if NO_ROOM.search(said):
                    raise
                raise ArchiveError(f"{archive.name} is damaged or forged: {member} ({said}).") from error
            given.unlink()
            drafts.append((SealedDraft(table, run.id, made, rows), left_out))
    return drafts


def _columns(store: Store, table: str) -> dict[str, str]:
    """Name -> type of a raw table, in order."""
    sql = "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = 'raw' AND table_name = ? "
    rows = store.query(sql + "ORDER BY column_index", [table]).to_pylist()
    return {row["column_name"]: row["data_type"] for row in rows}


def _rewrite(given: Path, made: Path, table: str, run_id: str, columns: Mapping[str, str]) -> tuple[int, int]:
    """Write a foreign table in our own types; the rows, and how many values are left out.

    Raises ValueError for what cannot be ours.
    """
    metadata = pq.read_metadata(given)
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if metadata.num_rows > MOST_ROWS or size > MOST_TABLE_BYTES:
        raise ValueError(f"{metadata.num_rows:,} rows of {size:,} bytes are more than a run can have")
    if metadata.num_rows > max(FREE_ROWS, given.stat().st_size):
        raise ValueError(f"{metadata.num_rows:,} rows in {given.stat().st_size:,} bytes are not those of any run")
    stated = set(pq.read_schema(given).names)
    if strange := stated - columns.keys():
        raise ValueError(f"no table of ours has a column {min(strange)!r}")
    picked = ", ".join(
        f'"{c}"::{kind} AS "{c}"' if c in stated else f'NULL::{kind} AS "{c}"' for c, kind in columns.items()
    )
    source = f"read_parquet({quoted(str(given))}, hive_partitioning = false)"
    taken = sifted(table, columns)
    with duckdb.connect() as scratch:
        scratch.execute(f"{SCRATCH}; SET temp_directory = {quoted(str(made.parent))}")
        foreign = scratch.execute(f"SELECT count(*) FROM {source} WHERE run_id IS DISTINCT FROM ?", [run_id]).fetchone()
        if foreign != (0,):
            raise ValueError("it holds rows of another run")
        scratch.execute(f"CREATE VIEW given AS SELECT {picked} FROM {source}")
        copy = f"COPY (SELECT {taken.columns} FROM given WHERE {taken.is_row} ORDER BY {TIME_COLUMNS[table]})"
        done = scratch.execute(f"{copy} TO {quoted(str(made))} (FORMAT parquet, COMPRESSION zstd)").fetchone()
        left_out = scratch.execute(f"SELECT {taken.left_out} FROM given").fetchone()
    assert done is not None
    assert left_out is not None
    return int(done[0]), int(left_out[0] or 0)


def _extract_log(archive: Archive, run: Run, folder: Path) -> None:
    member = f"runs/{run.id}/{LOG}"
    if member in archive.manifest.members:
        archive.extract(member, folder / LOG)


def _with_log(run: Run, folder: Path, runs_dir: Path) -> Run:
    """The run with its log, if it has one, where this Pitwall keeps logs."""
    if not (folder / LOG).exists():
        return run
    log = runs_dir / run.id / LOG
    private_folder(log.parent)
    make_private(folder / LOG)
    (folder / LOG).replace(log)
    return run.model_copy(update={"log_path": str(log)})
