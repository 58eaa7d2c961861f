"""`./pitwall lake init|status|ship|compact|check`: manages the store that several machines share."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from cli.answers import Answer, add_command
from cli.exit_status import DONE, REFUSED


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall lake init`, `status`, `ship`, `compact` and `check` to the parser."""
    help_text = "ship finished runs to the store that several machines share, and maintain it"
    lake = commands.add_parser(
        "lake", help=help_text, description=f"{help_text}. It is configured in lake.toml in the data folder."
    )
    orders = lake.add_subparsers(dest="order", required=True, metavar="ORDER")
    init_command = add_command(orders, "init", init, "create the lake's tables, or update them")
    init_command.add_argument("--reader", metavar="ROLE", help="a PostgreSQL role that may read the lake from now on")
    add_command(orders, "status", status, "print what is shipped, what is waiting, and how others attach the lake")
    add_command(orders, "ship", ship, "ship everything that is sealed now; a running Pitwall does so once a minute")
    compact_command = add_command(
        orders, "compact", compact, "merge small files, drop old snapshots, delete unreferenced files"
    )
    compact_command.add_argument(
        "--keep-days", type=float, default=7.0, metavar="N", help="how long to keep old snapshots (default: 7)"
    )
    add_command(orders, "check", check, "check every table of the lake against its ledger")


def init(arguments: argparse.Namespace) -> Answer:
    """Create the lake's tables from those of the published file; raises LakeError, StoreError."""
    from settings import load_settings
    from storage.lake.config import required_config
    from storage.lake.connection import errors_without_secrets, opened_lake
    from storage.lake.layout import make_lake, required_columns
    from storage.published_query import published_query

    settings = load_settings()
    config = required_config(settings)
    with published_query(settings.published_path) as query:
        columns = required_columns(query)
    with opened_lake(config) as connection, errors_without_secrets(config):
        make_lake(connection, columns, arguments.reader)
    reader = f" {arguments.reader} may read it." if arguments.reader else ""
    return Answer(f"The lake has {len(columns)} tables.{reader}", {"tables": list(columns)})


def status(arguments: argparse.Namespace) -> Answer:
    """Report what is shipped, what is waiting, and how others attach the lake; raises LakeError, StoreError."""
    from redaction import mask_text
    from settings import load_settings
    from storage.lake.config import required_config
    from storage.lake.connection import errors_without_secrets, opened_lake
    from storage.lake.owner import owner_id
    from storage.lake.ship import Shipper
    from storage.lake.status import attach_statements, lake_status
    from storage.lake.tls import in_clear
    from storage.published_query import published_query

    settings = load_settings()
    config, owner = required_config(settings), owner_id(settings)
    with (
        published_query(settings.published_path) as query,
        opened_lake(config, read_only=True) as connection,
        errors_without_secrets(config),
    ):
        shipper = Shipper(config, owner, query, settings.parquet_dir.absolute(), mask_text)
        report = lake_status(connection, owner, shipper.look(connection))
    statements = attach_statements(config)
    last = f"{report.last_shipped_at:%Y-%m-%d %H:%M:%S} UTC" if report.last_shipped_at else "never"
    unencrypted = in_clear(config)
    lines = [
        *unencrypted,
        f"This data folder ({owner}) has {report.runs:,} runs in the lake: "
        f"{report.parts:,} parts, {report.rows:,} rows; the last commit: {last}.",
        f"{report.waiting_parts:,} sealed parts of {report.waiting_runs:,} runs are waiting: "
        f"{report.waiting_rows:,} rows.",
        f"All data folders: {report.all_owners:,} with {report.all_runs:,} runs in {report.all_parts:,} parts.",
        "Others read it in DuckDB, with a read-only role and key:",
        statements,
    ]
    return Answer("\n".join(lines), asdict(report) | {"attach": statements, "in_clear": unencrypted})


def ship(arguments: argparse.Namespace) -> Answer:
    """Ship until nothing is waiting, or another process ships; raises LakeError, StoreError."""
    from redaction import mask_text
    from settings import load_settings
    from storage.lake.config import required_config
    from storage.lake.owner import owner_id
    from storage.lake.ship import Shipper, ship_all
    from storage.published_query import published_query

    settings = load_settings()
    config = required_config(settings)
    with published_query(settings.published_path) as query:
        shipper = Shipper(config, owner_id(settings), query, settings.parquet_dir.absolute(), mask_text)
        result = ship_all(shipper, config)
    text = f"Shipped {result.parts:,} parts with {result.rows:,} rows, and {result.records:,} records."
    if not result.is_held:
        text += " Another process is shipping for this data folder, or the lake is being compacted."
    return Answer(text, asdict(result))


def compact(arguments: argparse.Namespace) -> Answer:
    """Merge small files and delete old ones; raises LakeError."""
    from settings import load_settings
    from storage.lake.config import required_config
    from storage.lake.upkeep import compact as compact_lake

    result = compact_lake(required_config(load_settings()), arguments.keep_days)
    merged = f"{result.files_before:,} files became {result.files_after:,}"
    text = f"{merged}; {result.deleted:,} unreferenced files were deleted."
    return Answer(text, asdict(result))


def check(arguments: argparse.Namespace) -> Answer:
    """Report each difference as a sentence, with REFUSED if there is one; raises LakeError."""
    from settings import load_settings
    from storage.lake.config import required_config
    from storage.lake.upkeep import check_lake

    problems = check_lake(required_config(load_settings()))
    text = "\n".join(problems) or "Every table of the lake matches its ledger."
    return Answer(text, {"found": problems}, REFUSED if problems else DONE)
