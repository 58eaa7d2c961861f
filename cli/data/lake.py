"""`./pitwall lake init|status|ship|compact|check`: the store that several machines share, from the shell."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from cli.answers import Answer, add_command
from cli.exit_status import DONE, REFUSED


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall lake init`, `status`, `ship`, `compact` and `check` to the parser."""
    words = "ship finished runs to the store that several machines share, and keep it fit"
    lake = commands.add_parser(
        "lake", help=words, description=f"{words}. It is configured by lake.toml of the data folder."
    )
    orders = lake.add_subparsers(dest="order", required=True, metavar="ORDER")
    made = add_command(orders, "init", init, "make the lake's tables, or bring them up to date")
    made.add_argument("--reader", metavar="ROLE", help="a PostgreSQL role that may read the lake from now on")
    add_command(orders, "status", status, "say what is shipped, what waits, and how others attach the lake")
    add_command(orders, "ship", ship, "ship what is sealed now; a running Pitwall does so by itself once a minute")
    compacted = add_command(
        orders, "compact", compact, "merge small files, forget old snapshots, delete what nobody names"
    )
    compacted.add_argument("--keep-days", type=float, default=7.0, metavar="N", help="of old snapshots (default: 7)")
    add_command(orders, "check", check, "hold every table of the lake against its ledger")


def init(arguments: argparse.Namespace) -> Answer:
    """Make the lake's tables, by those of the published file; raises LakeError, StoreError."""
    from settings import load_settings
    from storage.lake.config import needed_config
    from storage.lake.connection import errors_without_secrets, opened_lake
    from storage.lake.layout import make_lake, wanted_columns
    from storage.published_query import published_query

    settings = load_settings()
    config = needed_config(settings)
    with published_query(settings.published_path) as query:
        wanted = wanted_columns(query)
    with opened_lake(config) as connection, errors_without_secrets(config):
        make_lake(connection, wanted, arguments.reader)
    reader = f" {arguments.reader} may read it." if arguments.reader else ""
    return Answer(f"The lake has {len(wanted)} tables.{reader}", {"tables": list(wanted)})


def status(arguments: argparse.Namespace) -> Answer:
    """What this data folder has shipped, what waits, and how others attach the lake; raises LakeError, StoreError."""
    from redaction import mask_text
    from settings import load_settings
    from storage.lake.config import needed_config
    from storage.lake.connection import errors_without_secrets, opened_lake
    from storage.lake.owner import owner_id
    from storage.lake.ship import Shipper
    from storage.lake.status import attach_statements, lake_status
    from storage.lake.tls import in_clear
    from storage.published_query import published_query

    settings = load_settings()
    config, owner = needed_config(settings), owner_id(settings)
    with (
        published_query(settings.published_path) as query,
        opened_lake(config, read_only=True) as connection,
        errors_without_secrets(config),
    ):
        shipper = Shipper(config, owner, query, settings.parquet_dir.absolute(), mask_text)
        found = lake_status(connection, owner, shipper.look(connection))
    statements = attach_statements(config)
    last = f"{found.last_shipped_at:%Y-%m-%d %H:%M:%S} UTC" if found.last_shipped_at else "never"
    unencrypted = in_clear(config)
    lines = [
        *unencrypted,
        f"This data folder ({owner}) has {found.runs:,} runs in the lake: {found.parts:,} parts, {found.rows:,} rows; "
        f"the last commit: {last}.",
        f"{found.waiting_parts:,} sealed parts of {found.waiting_runs:,} runs wait: {found.waiting_rows:,} rows.",
        f"All data folders: {found.all_owners:,} with {found.all_runs:,} runs in {found.all_parts:,} parts.",
        "Others read it in DuckDB, with a role and a key that may only read:",
        statements,
    ]
    return Answer("\n".join(lines), asdict(found) | {"attach": statements, "in_clear": unencrypted})


def ship(arguments: argparse.Namespace) -> Answer:
    """Ship until nothing waits, or another process does; raises LakeError, StoreError."""
    from redaction import mask_text
    from settings import load_settings
    from storage.lake.config import needed_config
    from storage.lake.owner import owner_id
    from storage.lake.ship import Shipper, ship_all
    from storage.published_query import published_query

    settings = load_settings()
    config = needed_config(settings)
    with published_query(settings.published_path) as query:
        shipper = Shipper(config, owner_id(settings), query, settings.parquet_dir.absolute(), mask_text)
        done = ship_all(shipper, config)
    text = f"Shipped {done.parts:,} parts with {done.rows:,} rows, and {done.records:,} records."
    if not done.is_held:
        text += " Another process ships for this data folder, or the lake is being compacted: it goes on."
    return Answer(text, asdict(done))


def compact(arguments: argparse.Namespace) -> Answer:
    """Merge small files and delete old ones; raises LakeError."""
    from settings import load_settings
    from storage.lake.config import needed_config
    from storage.lake.upkeep import compact as compact_lake

    done = compact_lake(needed_config(load_settings()), arguments.keep_days)
    text = f"{done.files_before:,} files became {done.files_after:,}; {done.deleted:,} that nobody names were deleted."
    return Answer(text, asdict(done))


def check(arguments: argparse.Namespace) -> Answer:
    """A sentence for each thing that is wrong, REFUSED where there is one; raises LakeError."""
    from settings import load_settings
    from storage.lake.config import needed_config
    from storage.lake.upkeep import check_lake

    found = check_lake(needed_config(load_settings()))
    text = "\n".join(found) or "Every table of the lake is as its ledger says."
    return Answer(text, {"found": found}, REFUSED if found else DONE)
