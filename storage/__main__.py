"""`python -m storage`: look at a data folder, take evidence out of it, back it up; Pitwall may run meanwhile."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from redaction import mask_text
from settings import Settings, load_settings
from storage.catalog import latest_schema
from storage.database import StoreError
from storage.reading import Query, published_query
from storage.schema import describe_schema
from storage.transfer import backup, bundle
from storage.transfer.archive import Kind, check_members, opened_archive


def check_views(query: Query) -> str:
    """One line per view: its name, its rows, and that every one of them could be read."""
    names = query("SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY 1")
    lines = [f"{name:20} {_count(query, name):>12,} rows" for name in names["view_name"].to_pylist()]
    return "\n".join(lines)


def _count(query: Query, view: str) -> int:
    """Read all columns, not only the number of rows: a missing or cut file shows itself."""
    return len(query(f"SELECT hash(COLUMNS(*)) FROM {view}"))


def check(settings: Settings, arguments: argparse.Namespace) -> str:
    """The published file, or a bundle or backup, read to the end."""
    if arguments.file is None:
        with published_query(settings.published_path) as query:
            return check_views(query)
    kind: Kind = "bundle" if arguments.file.name.endswith(bundle.SUFFIX) else "backup"
    names = bundle.NAMES if kind == "bundle" else backup.NAMES
    with opened_archive(arguments.file, kind, latest_schema(), names, arguments.file.absolute().parent) as archive:
        return f"{arguments.file}: all {check_members(archive)} members are as the manifest says."


def schema(settings: Settings, arguments: argparse.Namespace) -> str:
    """docs/schema.md."""
    with published_query(settings.published_path) as query:
        return describe_schema(query)


def export(settings: Settings, arguments: argparse.Namespace) -> str:
    """Runs as one file."""
    target = arguments.output or Path(f"{arguments.runs[0]}{bundle.SUFFIX}")
    with published_query(settings.published_path) as query:
        bundle.export_runs(query, arguments.runs, target, datetime.now(UTC), mask_text)
    return f"{target}: {len(arguments.runs)} run(s), {target.stat().st_size:,} bytes, secrets masked."


def take_backup(settings: Settings, arguments: argparse.Namespace) -> str:
    count = backup.write_backup(settings, arguments.file, datetime.now(UTC))
    return f"{arguments.file}: {count} members, {arguments.file.stat().st_size:,} bytes."


def restore(settings: Settings, arguments: argparse.Namespace) -> str:
    count = backup.restore_backup(settings, arguments.file)
    return f"{settings.data_dir}: {count} members restored from {arguments.file}."


COMMANDS: Mapping[str, Callable[[Settings, argparse.Namespace], str]] = {
    "check": check,
    "schema": schema,
    "export": export,
    "backup": take_backup,
    "restore": restore,
}


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m storage", description="The data folder is that of PITWALL_DATA.")
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser("check", help="read everything there is, or a bundle or backup, to its end")
    checked.add_argument("file", type=Path, nargs="?")
    commands.add_parser("schema", help="print the views and their columns as Markdown")
    exported = commands.add_parser("export", help="write runs that are over as one file for another Pitwall")
    exported.add_argument("runs", nargs="+", metavar="RUN", help="a run's id; of several, in the order of comparison")
    exported.add_argument("-o", "--output", type=Path, metavar="FILE", help=f"default: RUN{bundle.SUFFIX}")
    commands.add_parser("backup", help="write the whole data folder to a file").add_argument("file", type=Path)
    commands.add_parser("restore", help="make an empty data folder of a backup").add_argument("file", type=Path)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _arguments().parse_args(argv)
    try:
        print(COMMANDS[arguments.command](load_settings(), arguments))
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or arguments.command}: {error.strerror}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
