"""What the store's file is made of: tables by migrations, views by definition at every start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from storage.ask.literals import as_name, quoted
from storage.database import StoreError
from storage.engine_views import engine_views_sql
from storage.reference_views import reference_views_sql
from storage.rows import TIME_COLUMNS

HERE = Path(__file__).parent
ENGINES = "engines/*"
# The files of views/ and its folders in the order in which they are loaded: each uses what those before it define. The
# sample tables come between the terms and the rest.
TERMS = ("terms", "earlier_reasons")
VIEWS = (
    "scrapes", ENGINES, "progress",  # what moved between two looks, engine by engine
    "rates", "log_lines", "log_rates", "samples",  # from increments and lines to rates
    "crosscheck", "acceptance", "runs", "machines", "startup", "latency", "audit", "people", "adopted", "search",
    "compatibility",
    "comments", "comments_samples", "comments_results", "comments_machines", "comments_reference", "comments_people",
)  # fmt: skip
WITH_REASONS = {"results", "accuracy"}  # tables in which an earlier Pitwall stored sentences
# A sample table as a user sees it.
SAMPLE_VIEW = "CREATE OR REPLACE VIEW {table} AS FROM {table}_of(NULL::VARCHAR[]);"
STANDING = (HERE / "standing_views.sql").read_text()


def migrate(connection: duckdb.DuckDBPyConnection, folder: Path = HERE / "migrations") -> None:
    """Bring the tables up to date, each migration once; those of an older store in a transaction each.

    An empty store gets all of them in one: a commit each would take a third of the time of a first start.
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
    missing = sorted(known.keys() - applied)
    for together in [missing] if not applied else [[number] for number in missing]:
        _apply(connection, {number: known[number] for number in together})


def latest_schema(folder: Path = HERE / "migrations") -> int:
    """The number of the newest migration that this Pitwall knows."""
    return max(int(path.name[:4]) for path in folder.glob("[0-9]*.sql"))


def _apply(connection: duckdb.DuckDBPyConnection, migrations: Mapping[int, Path]) -> None:
    connection.begin()
    for number, path in migrations.items():
        connection.execute(path.read_text())
        connection.execute("INSERT INTO raw.migrations VALUES (?, ?, now())", [number, path.name])
    connection.commit()


def renew_views(connection: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
    """Have the views, macros and comments of schema main be this Pitwall's; what a person keeps elsewhere stays.

    Where they are already, untouched, only the sealed files are named anew: the rest would take half of a start.
    """
    made_of = _made_of(connection)
    kept = connection.execute("SELECT made_of, standing FROM raw.view_texts").fetchall()
    if kept == [(made_of, _standing(connection))]:
        name_sealed_files(connection, parquet_dir)
        return
    _drop_views(connection)
    define_views(connection, parquet_dir)
    connection.execute("DELETE FROM raw.view_texts")
    connection.execute("INSERT INTO raw.view_texts VALUES (?, ?)", [made_of, _standing(connection)])


def _made_of(connection: duckdb.DuckDBPyConnection) -> str:
    """A checksum of all that the views follow from but the sealed files: our texts, the tables' columns, DuckDB."""
    schema = connection.execute("SELECT string_agg(number, ',' ORDER BY number) FROM raw.migrations").fetchall()
    texts = [duckdb.__version__, str(schema), SAMPLE_VIEW, *TIME_COLUMNS, reference_views_sql()]
    texts += [text for name in (*TERMS, *VIEWS) for text in _texts(name)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _standing(connection: duckdb.DuckDBPyConnection) -> str | None:
    """A checksum of the views and macros that are there: names, columns, comments, parameters."""
    rows = connection.execute(STANDING).fetchall()
    return rows[0][0] if rows else None


def _drop_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Take every view and macro of schema main away, those of an older Pitwall too, which may name what is gone."""
    views = "SELECT 'VIEW' AS kind, view_name AS name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
    macros = (
        "SELECT DISTINCT CASE function_type WHEN 'macro' THEN 'MACRO' ELSE 'MACRO TABLE' END, function_name "
        "FROM duckdb_functions() WHERE NOT internal AND schema_name = 'main' "
        "AND function_type IN ('macro', 'table_macro')"
    )
    for kind, name in connection.execute(f"{views} UNION ALL {macros}").fetchall():
        connection.execute(f"DROP {kind} main.{as_name(name)}")


def define_views(connection: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
    """Define every view, macro and comment; sealed files are named by absolute path, for readers elsewhere."""
    for name in TERMS:
        _load(connection, name)
    name_sealed_files(connection, parquet_dir)
    for table in TIME_COLUMNS:
        connection.execute(SAMPLE_VIEW.format(table=table))
    connection.execute(reference_views_sql())
    for name in VIEWS:
        _load(connection, name)


def name_sealed_files(connection: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
    """Have the sample tables read the files that are sealed now; all other views follow from these by name."""
    sealed, folder = _sealed_files(connection), parquet_dir.absolute()
    for table in TIME_COLUMNS:
        connection.execute(_samples_sql(table, folder, sealed.get(table, [])))


def _load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    for text in _texts(name):
        connection.execute(text)


def _texts(name: str) -> list[str]:
    """What the files of this name say; after those of the engines, what joins them."""
    texts = [path.read_text() for path in sorted((HERE / "views").rglob(f"{name}.sql"))]
    return [*texts, engine_views_sql(HERE / "views" / "engines")] if name == ENGINES else texts


class SealedFiles(NamedTuple):
    """The sealed files of a table that have the same columns, a line each, the oldest first."""

    own: str | None  # each of one run
    merged: str | None  # each of several


def _sealed_files(connection: duckdb.DuckDBPyConnection) -> dict[str, list[SealedFiles]]:
    """By table and schema, the oldest first."""
    found = connection.execute(
        "SELECT table_name, string_agg(path, chr(10) ORDER BY path) FILTER (merged_path IS NULL), "
        "string_agg(DISTINCT merged_path, chr(10) ORDER BY merged_path) "
        "FROM raw.sealed_files WHERE lost_reason IS NULL "
        "GROUP BY table_name, schema_number ORDER BY schema_number"
    ).fetchall()
    sealed: dict[str, list[SealedFiles]] = {}
    for table, own, merged in found:
        sealed.setdefault(table, []).append(SealedFiles(own, merged))
    return sealed


def _samples_sql(table: str, folder: Path, sealed: list[SealedFiles]) -> str:
    """The rows of a sample table that are still in the file and those sealed to Parquet; of all runs or of some.

    Files of one schema are one scan; a column that an older schema lacks is null.
    """
    sources = [f"FROM raw.{table} WHERE is_asked(run_ids, run_id)"]
    for files in sealed:
        if files.own:
            sources.append(f"FROM {_scan('files_of', folder, files.own)} WHERE is_asked(run_ids, run_id)")
        if files.merged:
            where = "is_asked(run_ids, run_id) AND is_between_asked(run_ids, run_id)"
            sources.append(f"FROM {_scan('merged_files_of', folder, files.merged)} WHERE {where}")
    rows = " UNION ALL BY NAME ".join(sources)
    if table in WITH_REASONS:
        rows = f"SELECT * REPLACE (reason_codes(reason) AS reason) FROM ({rows})"
    return f"""
        CREATE OR REPLACE MACRO {table}_of(run_ids) AS TABLE {rows};
        COMMENT ON MACRO TABLE {table}_of IS '{table}_of(run_ids): {table} of these runs.';
    """


def _scan(chooses: str, folder: Path, files: str) -> str:
    """The rows of the files that may have those of the runs asked about."""
    paths = f"{chooses}(run_ids, {quoted(str(folder))}, {quoted(files)})"
    columns = "hive_partitioning = " + ("true, hive_types = {'run_id': VARCHAR}" if chooses == "files_of" else "false")
    return f"read_parquet({paths}, {columns})"


@contextmanager
def attached(cursor: duckdb.DuckDBPyConnection, path: Path, name: str, option: str = "READ_WRITE") -> Iterator[None]:
    """Another database file under a name, for a while; ATTACH takes no parameters."""
    cursor.execute(f"ATTACH {quoted(str(path))} AS {name} ({option})")
    try:
        yield
    finally:
        cursor.execute(f"DETACH {name}")
