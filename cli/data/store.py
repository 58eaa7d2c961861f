"""`./pitwall check|export|backup|restore|schema`: the data folder from the shell, also while Pitwall runs.

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
    checked = add_command(commands, "check", check, "read the whole store to its end, or one bundle or backup")
    checked.add_argument("file", type=Path, nargs="?", metavar="FILE")
    words = "make a store that cannot be opened anew from its published copy, and say what is lost"
    checked.add_argument("--repair", action="store_true", help=words)
    exported = add_command(
        commands, "export", export, "write finished runs as one file for another Pitwall, secrets masked"
    )
    exported.add_argument("runs", nargs="+", metavar="RUN", help="a run's id; of several, in the order of comparison")
    exported.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: RUN.pitwall.zip")
    backed_up = add_command(commands, "backup", backup, "write the whole data folder to one file")
    backed_up.add_argument("file", type=Path, metavar="FILE")
    restored = add_command(commands, "restore", restore, "make the data folder of a backup; it must be empty or absent")
    restored.add_argument("file", type=Path, metavar="FILE")
    add_command(commands, "schema", schema, "print the views and their columns as Markdown")


def check(arguments: argparse.Namespace) -> Answer:
    """The published file, or a bundle or backup, read to the end; or the store mended."""
    if arguments.repair:
        return _repair()
    return _check_file(arguments.file) if arguments.file else _check_store()


def _repair() -> Answer:
    """Owns the store meanwhile; raises StoreInUseError while a Pitwall runs there."""
    from settings import load_settings
    from storage.files.repair import repair

    done = repair(load_settings(), datetime.now(UTC))
    fields = {
        "was_damaged": done.was_damaged,
        "set_aside": str(done.set_aside) if done.set_aside else None,
        "rows": done.rows,
        "lost": [one._asdict() for one in done.lost],
    }
    return Answer("\n".join(done.sentences()), fields)


def _check_store() -> Answer:
    from settings import load_settings
    from storage.files.lost import read_lost_files
    from storage.published_query import count_views, published_query

    with published_query(load_settings().published_path) as query:
        rows = count_views(query)
        lost = read_lost_files(query)
    lines = [*(f"{name:20} {count:>12,} rows" for name, count in rows.items()), *(one.sentence() for one in lost)]
    return Answer("\n".join(lines), {"rows": rows, "lost": [one._asdict() for one in lost]})


def _check_file(file: Path) -> Answer:
    from storage.catalog import latest_schema
    from storage.transfer import backup, bundle
    from storage.transfer.archive import Kind, check_members, opened_archive

    kind: Kind = "bundle" if file.name.endswith(bundle.SUFFIX) else "backup"
    names = bundle.NAMES if kind == "bundle" else backup.NAMES
    with opened_archive(file, kind, latest_schema(), names, file.absolute().parent) as archive:
        members = check_members(archive)
    return Answer(f"{file}: all {members} members are as the manifest says.", {"kind": kind, "members": members})


def schema(arguments: argparse.Namespace) -> Answer:
    """docs/schema.md: the views of this Pitwall, whatever the data folder holds."""
    from storage.ask.free_sql.schema import describe_new_store

    text = describe_new_store()
    return Answer(text, {"markdown": text})


def export(arguments: argparse.Namespace) -> Answer:
    """Runs as one file."""
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
    """Write all that was published at this moment to one file; raises ArchiveError, OSError."""
    from settings import load_settings
    from storage.transfer.backup import write_backup

    members = write_backup(load_settings(), arguments.file, datetime.now(UTC))
    size_bytes = arguments.file.stat().st_size
    fields = {"file": str(arguments.file), "members": members, "size_bytes": size_bytes}
    return Answer(f"{arguments.file}: {members} members, {size_bytes:,} bytes.", fields)


def restore(arguments: argparse.Namespace) -> Answer:
    """Make an empty or absent data folder of a backup; raises ArchiveError, and then leaves nothing behind."""
    from settings import load_settings
    from storage.transfer.backup import restore_backup

    settings = load_settings()
    members = restore_backup(settings, arguments.file)
    fields = {"data_dir": str(settings.data_dir), "members": members}
    return Answer(f"{settings.data_dir}: {members} members restored from {arguments.file}.", fields)
