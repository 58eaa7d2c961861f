"""`./pitwall check|export|backup|restore|schema`: work on the data folder, also while Pitwall is running.

They read the published file, which Pitwall replaces every few seconds; `schema` needs none. Only `restore` writes, into
an empty folder, and `check --repair`, which owns the store meanwhile.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path

from cli.answers import Answer, add_command


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall check`, `export`, `backup`, `restore` and `schema` to the parser."""
    check_command = add_command(commands, "check", check, "read the whole store to its end, or one bundle or backup")
    check_command.add_argument("file", type=Path, nargs="?", metavar="FILE")
    help_text = "rebuild a store that cannot be opened from its published copy, and report what is lost"
    check_command.add_argument("--repair", action="store_true", help=help_text)
    export_command = add_command(
        commands, "export", export, "write finished runs to one file for another Pitwall, with secrets masked"
    )
    export_command.add_argument("runs", nargs="+", metavar="RUN", help="a run's id; several in the order of comparison")
    export_command.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: RUN.pitwall.zip")
    backup_command = add_command(commands, "backup", backup, "write the whole data folder to one file")
    backup_command.add_argument("file", type=Path, metavar="FILE")
    restore_command = add_command(
        commands, "restore", restore, "fill the data folder from a backup; it must be empty or absent"
    )
    restore_command.add_argument("file", type=Path, metavar="FILE")
    add_command(commands, "schema", schema, "print the views and their columns as Markdown")


def check(arguments: argparse.Namespace) -> Answer:
    """Read the published file, or a bundle or backup, to its end; or repair the store."""
    if arguments.repair:
        return _repair()
    return _check_file(arguments.file) if arguments.file else _check_store()


def _repair() -> Answer:
    """Repair the store, owning it meanwhile; raises StoreInUseError while a Pitwall uses it."""
    from settings import load_settings
    from storage.repair import repair_store

    repair = repair_store(load_settings(), datetime.now(UTC))
    fields = {
        "was_damaged": repair.was_damaged,
        "set_aside": str(repair.set_aside) if repair.set_aside else None,
        "rows": repair.rows,
        "lost": [lost_file._asdict() for lost_file in repair.lost_files],
    }
    return Answer("\n".join(repair.sentences()), fields)


def _check_store() -> Answer:
    from settings import load_settings
    from storage.files.lost_files import read_lost_files
    from storage.published_query import count_views, published_query

    with published_query(load_settings().published_path) as query:
        rows = count_views(query)
        lost_files = read_lost_files(query)
    lines = [
        *(f"{name:20} {count:>12,} rows" for name, count in rows.items()),
        *(lost_file.sentence() for lost_file in lost_files),
    ]
    return Answer("\n".join(lines), {"rows": rows, "lost": [lost_file._asdict() for lost_file in lost_files]})


def _check_file(file: Path) -> Answer:
    from storage.catalog import latest_schema
    from storage.transfer import backup, bundle
    from storage.transfer.archive import Kind, check_members, open_archive

    kind: Kind = "bundle" if file.name.endswith(bundle.SUFFIX) else "backup"
    names = bundle.NAMES if kind == "bundle" else backup.NAMES
    with open_archive(file, kind, latest_schema(), names, file.absolute().parent) as archive:
        members = check_members(archive)
    return Answer(f"{file}: all {members} members match the manifest.", {"kind": kind, "members": members})


def schema(arguments: argparse.Namespace) -> Answer:
    """Print docs/schema.md: the views of this Pitwall, independent of the data folder."""
    from storage.user_sql.schema import describe_new_store

    text = describe_new_store()
    return Answer(text, {"markdown": text})


def export(arguments: argparse.Namespace) -> Answer:
    """Write runs to one bundle."""
    from machine.regular_file import follow_own
    from redaction import mask_text
    from settings import load_settings
    from storage.published_query import published_query
    from storage.transfer import bundle

    target = arguments.output or Path(f"{arguments.runs[0]}{bundle.SUFFIX}")
    settings = load_settings()
    follow_own(settings.data_dir)
    with published_query(settings.published_path) as query:
        bundle.export_runs(query, arguments.runs, target, datetime.now(UTC), mask_text)
    size_bytes = target.stat().st_size
    fields = {"file": str(target), "runs": arguments.runs, "size_bytes": size_bytes}
    return Answer(f"{target}: {len(arguments.runs)} run(s), {size_bytes:,} bytes, secrets masked.", fields)


def backup(arguments: argparse.Namespace) -> Answer:
    """Write everything that is published now to one file; raises ArchiveError, OSError."""
    from settings import load_settings
    from storage.transfer.backup import write_backup

    members = write_backup(load_settings(), arguments.file, datetime.now(UTC))
    size_bytes = arguments.file.stat().st_size
    fields = {"file": str(arguments.file), "members": members, "size_bytes": size_bytes}
    return Answer(f"{arguments.file}: {members} members, {size_bytes:,} bytes.", fields)


def restore(arguments: argparse.Namespace) -> Answer:
    """Fill an empty or absent data folder from a backup; raises ArchiveError, and then leaves nothing behind."""
    from settings import load_settings
    from storage.transfer.backup import restore_backup

    settings = load_settings()
    members = restore_backup(settings, arguments.file)
    fields = {"data_dir": str(settings.data_dir), "members": members}
    return Answer(f"{settings.data_dir}: {members} members restored from {arguments.file}.", fields)
