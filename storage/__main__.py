"""`python -m storage check|schema`: look at the published file of a data folder."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

from settings import load_settings
from storage.database import StoreError
from storage.reading import Query, published_query
from storage.schema import describe_schema


def check(query: Query) -> str:
    """One line per view: its name, its rows, and that every one of them could be read."""
    names = query("SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY 1")
    lines = [f"{name:20} {_count(query, name):>12,} rows" for name in names["view_name"].to_pylist()]
    return "\n".join(lines)


def _count(query: Query, view: str) -> int:
    """Read all columns, not only the number of rows: a missing or cut file shows itself."""
    return len(query(f"SELECT hash(COLUMNS(*)) FROM {view}"))


COMMANDS: Mapping[str, Callable[[Query], str]] = {"check": check, "schema": describe_schema}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m storage", description="Look at the published file of PITWALL_DATA."
    )
    parser.add_argument("command", choices=COMMANDS)
    command = parser.parse_args(argv).command
    try:
        with published_query(load_settings().published_path) as query:
            print(COMMANDS[command](query))
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
