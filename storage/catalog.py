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
    connection.execute("\n".join(_union_view(connection, table, parquet_dir) for table in TIME_COLUMNS))
    for path in sorted((HERE / "views").glob("*.sql")):
        connection.execute(path.read_text())


def _union_view(connection: duckdb.DuckDBPyConnection, table: str, parquet_dir: Path) -> str:
    """A sample table as a user sees it: the rows still in the file and those sealed to Parquet.

    Files of one schema are one scan; a column that an older schema lacks is null.
    """
    found = connection.execute(
        "SELECT list(path ORDER BY path) FROM raw.sealed_files WHERE table_name = ? "
        "GROUP BY schema_number ORDER BY schema_number",
        [table],
    ).fetchall()
    scans = [f"SELECT * FROM raw.{table}", *(_scan(parquet_dir.absolute(), paths) for (paths,) in found)]
    return f"CREATE OR REPLACE VIEW {table} AS {' UNION ALL BY NAME '.join(scans)};"


def _scan(parquet_dir: Path, paths: list[str]) -> str:
    files = ", ".join(quoted(str(parquet_dir / path)) for path in paths)
    return f"SELECT * FROM read_parquet([{files}], hive_partitioning = true, hive_types = {{'run_id': VARCHAR}})"


@contextmanager
def attached(cursor: duckdb.DuckDBPyConnection, path: Path, name: str, option: str = "READ_WRITE") -> Iterator[None]:
    """Another database file under a name, for a while; ATTACH takes no parameters."""
    cursor.execute(f"ATTACH {quoted(str(path))} AS {name} ({option})")
    try:
        yield
    finally:
        cursor.execute(f"DETACH {name}")
