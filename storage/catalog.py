"""What the store's file is made of: tables by migrations, views by definition at every start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from storage.ask.literals import quoted
from storage.database import StoreError
from storage.rows import TIME_COLUMNS

HERE = Path(__file__).parent
# The files of views/ in the order in which they are loaded: each uses what those before it define. The sample tables
# come between the terms and the rest.
TERMS = "terms"
VIEWS = (
    "scrapes", "engines/*", "progress",  # what moved between two looks, engine by engine
    "rates", "log_lines", "log_rates", "samples",  # from increments and lines to rates
    "crosscheck", "acceptance", "runs", "audit", "comments", "comments_samples",
)  # fmt: skip


def migrate(connection: duckdb.DuckDBPyConnection, folder: Path = HERE / "migrations") -> None:
    """Bring the tables up to date, each migration once and in a transaction of its own.

    Raises StoreError when the store was written by a newer Pitwall.
    """
    connection.execute("CREATE SCHEMA IF NOT EXISTS raw")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS raw.migrations (number INTEGER, name VARCHAR, applied_at TIMESTAMPTZ)"
    )
    applied = {row[0] for row in connection.execute("SELECT number FROM raw.migrations").fetchall()}
    known = {int(path.name[:4]): path for path in sorted(folder.glob("[0-9]*.sql"))}
    if newer := applied - known.keys():
        raise StoreError(
            f"This store was written by a newer Pitwall (schema {max(newer)}, this one knows {max(known)}): "
            "start the newer version, or choose another data folder with PITWALL_DATA."
        )
    for number in sorted(known.keys() - applied):
        _apply(connection, number, known[number])


def latest_schema(folder: Path = HERE / "migrations") -> int:
    """The number of the newest migration that this Pitwall knows."""
    return max(int(path.name[:4]) for path in folder.glob("[0-9]*.sql"))


def _apply(connection: duckdb.DuckDBPyConnection, number: int, path: Path) -> None:
    connection.begin()
    connection.execute(path.read_text())
    connection.execute("INSERT INTO raw.migrations VALUES (?, ?, now())", [number, path.name])
    connection.commit()


def define_views(connection: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
    """Define every view, macro and comment; sealed files are named by absolute path, for readers elsewhere."""
    _load(connection, TERMS)
    for table in TIME_COLUMNS:
        connection.execute(_samples_sql(table, parquet_dir.absolute(), _sealed_files(connection, table)))
    for name in VIEWS:
        _load(connection, name)


def _load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    for path in sorted((HERE / "views").glob(f"{name}.sql")):
        connection.execute(path.read_text())


def _sealed_files(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """The sealed files of a table, a line each, by schema, the oldest first."""
    found = connection.execute(
        "SELECT string_agg(path, chr(10) ORDER BY path) FROM raw.sealed_files "
        "WHERE table_name = ? AND lost_reason IS NULL "
        "GROUP BY schema_number ORDER BY schema_number",
        [table],
    ).fetchall()
    return [files for (files,) in found]


def _samples_sql(table: str, folder: Path, sealed: list[str]) -> str:
    """A sample table as a user sees it: the rows still in the file and those sealed to Parquet; of all runs or of some.

    Files of one schema are one scan; a column that an older schema lacks is null.
    """
    sources = [f"raw.{table}", *(_parquet_scan(folder, files) for files in sealed)]
    scans = " UNION ALL BY NAME ".join(f"SELECT * FROM {source} WHERE is_asked(run_ids, run_id)" for source in sources)
    return f"""
        CREATE OR REPLACE MACRO {table}_of(run_ids) AS TABLE {scans};
        COMMENT ON MACRO TABLE {table}_of IS '{table}_of(run_ids): {table} of these runs.';
        CREATE OR REPLACE VIEW {table} AS FROM {table}_of(NULL::VARCHAR[]);
    """


def _parquet_scan(folder: Path, files: str) -> str:
    paths = f"files_of(run_ids, {quoted(str(folder))}, {quoted(files)})"
    return f"read_parquet({paths}, hive_partitioning = true, hive_types = {{'run_id': VARCHAR}})"


@contextmanager
def attached(cursor: duckdb.DuckDBPyConnection, path: Path, name: str, option: str = "READ_WRITE") -> Iterator[None]:
    """Another database file under a name, for a while; ATTACH takes no parameters."""
    cursor.execute(f"ATTACH {quoted(str(path))} AS {name} ({option})")
    try:
        yield
    finally:
        cursor.execute(f"DETACH {name}")
