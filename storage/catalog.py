"""The store's schema: tables from migrations, views defined at every start."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from analysis.metrics.registry import LISTED
from storage.database import StoreError
from storage.engine_views import engine_views_sql
from storage.metric_views import metric_views_sql
from storage.queries.literals import as_name, quoted
from storage.reference_views import reference_views_sql
from storage.rows import TIME_COLUMNS

HERE = Path(__file__).parent
ENGINES = "engines/*"
# The files of views/ in load order: each uses the definitions of earlier ones. The sample tables come after the terms.
TERMS = ("terms",)
VIEWS = (
    "scrapes", ENGINES, "progress",  # increments between two scrapes, per engine
    "rates", "log_lines", "log_rates", "samples",  # from increments and lines to rates
    "crosscheck", "acceptance", "runs", "machines", "startup", "latency", "audit", "people", "adopted", "search",
    "compatibility", "turns",
    "comments", "comments_samples", "comments_results", "comments_machines", "comments_reference", "comments_people",
)  # fmt: skip
# A sample table as users see it.
SAMPLE_VIEW = "CREATE OR REPLACE VIEW {table} AS FROM {table}_of(NULL::VARCHAR[]);"
VIEW_STATE_SQL = (HERE / "standing_views.sql").read_text()


def migrate(connection: duckdb.DuckDBPyConnection, folder: Path = HERE / "migrations") -> None:
    """Bring the tables to the newest schema: an empty store in one transaction, an older one in one per migration.

    Raises StoreError if a newer Pitwall wrote the store, or one from before the first schema in `folder`.
    """
    connection.execute("CREATE SCHEMA IF NOT EXISTS raw")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS raw.migrations (number INTEGER, name VARCHAR, applied_at TIMESTAMPTZ)"
    )
    applied = {row[0] for row in connection.execute("SELECT number FROM raw.migrations").fetchall()}
    files = {int(path.name[:4]): path for path in sorted(folder.glob("[0-9]*.sql"))}
    if applied:
        _check_schema(max(applied), files)
    missing = sorted(files.keys() - applied)
    for numbers in [missing] if not applied else [[number] for number in missing]:
        _apply(connection, {number: files[number] for number in numbers})
    _add_metric_columns(connection)


def _check_schema(stored: int, files: Mapping[int, Path]) -> None:
    """Raise StoreError for a schema that this Pitwall cannot bring up to date."""
    if stored > max(files):
        raise StoreError(
            f"This store was written by a newer Pitwall (schema {stored}, this one knows {max(files)}): "
            "start the newer version, or choose another data folder with PITWALL_DATA."
        )
    if stored < min(files):
        raise StoreError(
            f"This store was written by a Pitwall from before 0.1.0 (schema {stored}, the oldest readable one is "
            f"{min(files)}): open it once with the last development version, or choose another data folder "
            "with PITWALL_DATA."
        )


def latest_schema(folder: Path = HERE / "migrations") -> int:
    """The number of the newest migration that this Pitwall knows."""
    return max(int(path.name[:4]) for path in folder.glob("[0-9]*.sql"))


def _apply(connection: duckdb.DuckDBPyConnection, migrations: Mapping[int, Path]) -> None:
    connection.begin()
    for number, path in migrations.items():
        connection.execute(path.read_text())
        connection.execute("INSERT INTO raw.migrations VALUES (?, ?, now())", [number, path.name])
    connection.commit()


def _add_metric_columns(connection: duckdb.DuckDBPyConnection) -> None:
    """Give the cache of run lines a column for each number that is new in LISTED."""
    rows = connection.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = 'run_reports'").fetchall()
    columns = {row[0] for row in rows}
    for metric in LISTED:
        if metric.key not in columns:
            connection.execute(f"ALTER TABLE raw.run_reports ADD COLUMN {metric.key} DOUBLE")


def renew_views(connection: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
    """Bring the views, macros and comments of schema main up to this version; other schemas stay as they are.

    If they are current and unchanged, only the sealed files are refreshed: redefining all takes half of a start.
    """
    definitions = _definitions_checksum(connection)
    stored = connection.execute("SELECT made_of, standing FROM raw.view_texts").fetchall()
    if stored == [(definitions, _views_checksum(connection))]:
        name_sealed_files(connection, parquet_dir)
        return
    _drop_views(connection)
    define_views(connection, parquet_dir)
    connection.execute("DELETE FROM raw.view_texts")
    connection.execute("INSERT INTO raw.view_texts VALUES (?, ?)", [definitions, _views_checksum(connection)])


def _definitions_checksum(connection: duckdb.DuckDBPyConnection) -> str:
    """A checksum of everything the views depend on except the sealed files: their texts, the schema, DuckDB."""
    schema = connection.execute("SELECT string_agg(number, ',' ORDER BY number) FROM raw.migrations").fetchall()
    texts = [duckdb.__version__, str(schema), SAMPLE_VIEW, *TIME_COLUMNS, reference_views_sql(), metric_views_sql()]
    texts += [text for name in (*TERMS, *VIEWS) for text in _texts(name)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _views_checksum(connection: duckdb.DuckDBPyConnection) -> str | None:
    """A checksum of the existing views and macros: names, columns, comments, parameters."""
    rows = connection.execute(VIEW_STATE_SQL).fetchall()
    return rows[0][0] if rows else None


def _drop_views(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop every view and macro of schema main, also those of older versions, which may refer to dropped tables."""
    views = "SELECT 'VIEW' AS kind, view_name AS name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'"
    macros = (
        "SELECT DISTINCT CASE function_type WHEN 'macro' THEN 'MACRO' ELSE 'MACRO TABLE' END, function_name "
        "FROM duckdb_functions() WHERE NOT internal AND schema_name = 'main' "
        "AND function_type IN ('macro', 'table_macro')"
    )
    for kind, name in connection.execute(f"{views} UNION ALL {macros}").fetchall():
        connection.execute(f"DROP {kind} main.{as_name(name)}")


def define_views(connection: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
    """Define every view, macro and comment; sealed files have absolute paths, for readers in other folders."""
    for name in TERMS:
        _load(connection, name)
    name_sealed_files(connection, parquet_dir)
    for table in TIME_COLUMNS:
        connection.execute(SAMPLE_VIEW.format(table=table))
    connection.execute(reference_views_sql())
    for name in VIEWS:
        _load(connection, name)
    connection.execute(metric_views_sql())


def name_sealed_files(connection: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
    """Let the sample tables read the current sealed files; all other views refer to these tables by name."""
    sealed, folder = _sealed_files(connection), parquet_dir.absolute()
    for table in TIME_COLUMNS:
        connection.execute(_samples_sql(table, folder, sealed.get(table, [])))


def _load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    for text in _texts(name):
        connection.execute(text)


def _texts(name: str) -> list[str]:
    """The texts of the files with this name; the union over all engines follows the engines' own files."""
    texts = [path.read_text() for path in sorted((HERE / "views").rglob(f"{name}.sql"))]
    return [*texts, engine_views_sql(HERE / "views" / "engines")] if name == ENGINES else texts


class SealedFiles(NamedTuple):
    """The sealed files of a table with the same columns, one per line, oldest first."""

    single: str | None  # with one run each
    merged: str | None  # with several runs each


def _sealed_files(connection: duckdb.DuckDBPyConnection) -> dict[str, list[SealedFiles]]:
    """The sealed files by table, the oldest schema first."""
    rows = connection.execute(
        "SELECT table_name, string_agg(path, chr(10) ORDER BY path) FILTER (merged_path IS NULL), "
        "string_agg(DISTINCT merged_path, chr(10) ORDER BY merged_path) "
        "FROM raw.sealed_files WHERE lost_reason IS NULL "
        "GROUP BY table_name, schema_number ORDER BY schema_number"
    ).fetchall()
    sealed: dict[str, list[SealedFiles]] = {}
    for table, single, merged in rows:
        sealed.setdefault(table, []).append(SealedFiles(single, merged))
    return sealed


def _samples_sql(table: str, folder: Path, sealed: list[SealedFiles]) -> str:
    """The macro for the rows of a sample table, in the store's file and sealed to Parquet, of all or of some runs.

    Files of one schema share a scan; a column missing in an older schema is null.
    """
    sources = [f"FROM raw.{table} WHERE is_requested(run_ids, run_id)"]
    for files in sealed:
        if files.single:
            sources.append(f"FROM {_scan('files_of', folder, files.single)} WHERE is_requested(run_ids, run_id)")
        if files.merged:
            where = "is_requested(run_ids, run_id) AND is_in_requested_range(run_ids, run_id)"
            sources.append(f"FROM {_scan('merged_files_of', folder, files.merged)} WHERE {where}")
    rows = " UNION ALL BY NAME ".join(sources)
    return f"""
        CREATE OR REPLACE MACRO {table}_of(run_ids) AS TABLE {rows};
        COMMENT ON MACRO TABLE {table}_of IS '{table}_of(run_ids): {table} of these runs.';
    """


def _scan(path_macro: str, folder: Path, files: str) -> str:
    """A scan of the files that may contain the requested runs."""
    paths = f"{path_macro}(run_ids, {quoted(str(folder))}, {quoted(files)})"
    columns = "hive_partitioning = " + (
        "true, hive_types = {'run_id': VARCHAR}" if path_macro == "files_of" else "false"
    )
    return f"read_parquet({paths}, {columns})"


@contextmanager
def attached(cursor: duckdb.DuckDBPyConnection, path: Path, name: str, option: str = "READ_WRITE") -> Iterator[None]:
    """Attach another database file under a name until left; ATTACH takes no parameters."""
    cursor.execute(f"ATTACH {quoted(str(path))} AS {name} ({option})")
    try:
        yield
    finally:
        cursor.execute(f"DETACH {name}")
