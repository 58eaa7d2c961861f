"""Backs up the whole data folder as one file, even while Pitwall runs, and restores it.

The backup is made from the published file, which never changes once written, and from its sealed files. The keys of
this installation are left out, and with them its share links.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import duckdb

from load_records import AGENT_FOLDER_PREFIX
from settings import Settings
from storage.catalog import latest_schema
from storage.database import StoreError
from storage.files.manifest import current_files
from storage.store import Store
from storage.transfer.archive import Archive, ArchiveError, ArchiveWriter, open_archive, write_archive

STORE = "store.duckdb"
PARQUET = "parquet"
_PART = r"(?!\.\.?(?:/|$))[^/\\\x00-\x1f]+"
NAMES = re.compile(rf"{STORE}|(?:{PARQUET}|runs|presets|queries|loads)(?:/{_PART})+")
END_UNKNOWN = "The run was live when the backup of this store was taken, so its end is unknown."


def write_backup(settings: Settings, target: Path, now: datetime) -> int:
    """Write everything published at this time; return the number of members. Raises ArchiveError or OSError."""
    if not settings.published_path.exists():
        raise ArchiveError(f"There is no published file at {settings.published_path}: has Pitwall run there?")
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=target.absolute().parent) as folder:
        copy = Path(folder) / STORE  # the published file is replaced every few seconds
        shutil.copyfile(settings.published_path, copy)
        sealed, number = _contents(copy)
        with write_archive(target, "backup", number, now, data_dir=str(settings.data_dir)) as archive:
            archive.add_file(STORE, copy)
            for path in sealed:
                archive.add_file(f"{PARQUET}/{path}", settings.parquet_dir / path)
            _add_folders(archive, settings)
            return len(archive.members)


def _contents(store: Path) -> tuple[list[str], int]:
    """The sealed files of a store, and its schema number."""
    with duckdb.connect(str(store), read_only=True) as connection:
        sealed = current_files(connection)
        number = connection.execute("SELECT max(number) FROM raw.migrations").fetchone()
    assert number is not None
    return sealed, int(number[0])


def _add_folders(archive: ArchiveWriter, settings: Settings) -> None:
    for folder in (settings.runs_dir, settings.presets_dir, settings.queries_dir, settings.loads_dir):
        for path in _plain_files(folder):
            archive.add_file(str(path.relative_to(settings.data_dir)), path)


def _plain_files(folder: Path) -> Iterator[Path]:
    """Regular files; hidden files, which are still being written, and what agents left are skipped."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_left_out = any(part.startswith(".") for part in parts) or _is_of_agent(parts)
        if path.is_file() and not path.is_symlink() and not is_left_out:
            yield path


def _is_of_agent(parts: Sequence[str]) -> bool:
    """Whether a path below the folder of runs belongs to a repeat of an agent task: 'RUN/workload-2/agent-1/...'."""
    return len(parts) > 3 and parts[1].startswith("workload") and parts[2].startswith(AGENT_FOLDER_PREFIX)


def restore_backup(settings: Settings, source: Path) -> int:
    """Restore a backup to the data folder, which must be empty or absent; return the number of members.

    Raises ArchiveError, and leaves nothing behind in that case.
    """
    target = settings.data_dir
    if target.exists() and any(target.iterdir()):
        raise ArchiveError(f"{target} is not empty: choose another folder with PITWALL_DATA.")
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = target if _is_fixed_in_place(target) else target.parent
    with (
        open_archive(source, "backup", latest_schema(), NAMES, staging) as archive,
        tempfile.TemporaryDirectory(prefix=".restore-", dir=staging) as folder,
    ):
        data_dir = Path(folder) / "data"
        count = _extract(archive, data_dir)
        _rebase_paths(data_dir / STORE, Path(archive.manifest.data_dir or target), target)
        if staging is target:
            for path in data_dir.iterdir():
                path.replace(target / path.name)
        else:
            data_dir.replace(target)  # an empty folder may be replaced
    _open_once(settings, source)
    return count


def _is_fixed_in_place(folder: Path) -> bool:
    """Whether another folder cannot take this one's place: it is a container's volume, or its parent is read-only."""
    return folder.exists() and (folder.is_mount() or not os.access(folder.parent, os.W_OK))


def _extract(archive: Archive, folder: Path) -> int:
    if STORE not in archive.manifest.members:
        raise ArchiveError(f"{archive.name} is not a complete backup: it has no store.")
    for member in archive.manifest.members:
        archive.extract(member, folder / member)
    return len(archive.manifest.members)


def _rebase_paths(store: Path, old: Path, new: Path) -> None:
    """Move all paths to the new folder, and end live runs, whose servers may belong to another Pitwall."""
    rebased = "CASE WHEN starts_with({0}, $old) THEN $new || substr({0}, length($old) + 1) ELSE {0} END"
    paths = ", ".join(f"{column} = {rebased.format(column)}" for column in ("run_dir", "log_path"))
    try:
        with duckdb.connect(str(store)) as connection:
            connection.execute(f"UPDATE raw.runs SET {paths}", {"old": f"{old}/", "new": f"{new}/"})
            path = f"path = {rebased.format('path')}"
            connection.execute(f"UPDATE raw.tail_positions SET {path}", {"old": f"{old}/", "new": f"{new}/"})
            live = "state NOT IN ('finished', 'failed')"
            connection.execute(f"UPDATE raw.runs SET state = 'failed', cause = ? WHERE {live}", [END_UNKNOWN])
    except duckdb.Error as error:
        raise ArchiveError(f"The store in the backup cannot be used: {str(error).splitlines()[0]}") from error


def _remove(folder: Path) -> None:
    if not _is_fixed_in_place(folder):
        return shutil.rmtree(folder)
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return None


def _open_once(settings: Settings, source: Path) -> None:
    """Migrate and publish as the next start would; raises ArchiveError if the store cannot be opened."""
    try:
        Store.open(settings).close()
    except (StoreError, duckdb.Error) as error:
        _remove(settings.data_dir)
        raise ArchiveError(f"The store in {source.name} cannot be opened: {str(error).splitlines()[0]}") from error
