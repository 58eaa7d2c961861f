"""A separate DuckDB instance for the lake: DuckLake on PostgreSQL and object storage, with its own memory limit.

The extensions are installed as wheels (requirements-lake.txt) and loaded by path; nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from storage.database import roll_back
from storage.lake.config import LakeConfig, LakeError
from storage.lake.tls import refused_certificate
from storage.queries.literals import quoted

LAKE, LOCKS = "lake", "locks"
EXTENSIONS = {"httpfs": "httpfs", "postgres": "postgres_scanner", "ducklake": "ducklake"}  # wheel -> DuckDB's name
NOT_INSTALLED = "The lake's packages are not installed: `.venv/bin/pip install -r requirements-lake.txt`."
NOT_MADE = "The lake is not initialised, so nothing is shipped: run `./pitwall lake init` once, on any of its machines."
LACKS_TABLES = "The lake has no table {}: `./pitwall lake init` creates the tables that this version needs."
NO_LAKE = "creating a new DuckLake is explicitly disabled"
NO_TABLE = re.compile(r"Table with name (\w+) does not exist")
LIMITS = "SET memory_limit = '1GB'; SET threads = 2; SET TimeZone = 'UTC'"
# DuckLake's own retries of a commit end within 7 s; the caller tries again later.
RETRIES = "SET ducklake_max_retry_count = 20; SET ducklake_retry_wait_ms = 50; SET ducklake_retry_backoff = 1.2"
TIMEOUTS = "SET http_timeout = 20; SET http_retries = 2"
CONNECT_TIMEOUT_S = 10
SHOWN_ENDS = (200, 300)  # characters shown of a long error; the middle is SQL of the catalogue


@contextmanager
def opened_lake(config: LakeConfig, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection with the catalogue as `lake` and its PostgreSQL as `locks`; raises LakeError."""
    with errors_without_secrets(config), duckdb.connect() as connection:
        connection.execute("SET autoinstall_known_extensions = false; SET autoload_known_extensions = false")
        _load_extensions(connection)
        connection.execute(f"{LIMITS}; {RETRIES}; {TIMEOUTS}")
        option = ", READ_ONLY" if read_only else ""
        _attach(connection, config, option)
        connection.execute(f"ATTACH {quoted(_with_timeout(config.catalogue))} AS {LOCKS} (TYPE postgres{option})")
        yield connection


def attach_to_read(connection: duckdb.DuckDBPyConnection, config: LakeConfig, password: str) -> None:
    """Attach only the catalogue as `lake`, read-only; raises LakeError, duckdb.Error.

    The password is separate from the configuration, because DuckDB shows the address of attached databases, but not
    the content of its secrets.
    """
    _load_extensions(connection)
    connection.execute(TIMEOUTS)
    connection.execute(f"CREATE SECRET catalogue (TYPE postgres, PASSWORD {quoted(password)})")
    _attach(connection, config, ", META_SECRET 'catalogue', READ_ONLY")


@contextmanager
def errors_without_secrets(config: LakeConfig) -> Iterator[None]:
    """Turn DuckDB's errors into LakeError without the lake's secrets."""
    try:
        yield
    except duckdb.Error as error:
        explanation = refused_certificate(config, str(error)) or _init_advice(str(error))
        raise LakeError(explanation or _two_ends(" ".join(config.hide(str(error)).split()))) from None


def _init_advice(message: str) -> str | None:
    """The advice if the lake or one of its tables does not exist; None for other errors."""
    if NO_LAKE in message:
        return NOT_MADE
    match = NO_TABLE.search(message)
    return LACKS_TABLES.format(match[1]) if match else None


def _two_ends(text: str) -> str:
    first, last = SHOWN_ENDS
    return text if len(text) <= first + last else f"{text[:first]} ... {text[-last:]}"


def _load_extensions(connection: duckdb.DuckDBPyConnection) -> None:
    """Load the extensions by path; DuckDB derives the name from the file, and one wheel names it differently."""
    with tempfile.TemporaryDirectory(prefix="pitwall-lake-") as folder:
        for wheel, name in EXTENSIONS.items():
            link = Path(folder) / f"{name}.duckdb_extension"
            link.symlink_to(_extension_file(wheel))
            connection.execute(f"LOAD {quoted(str(link))}")


def _extension_file(wheel: str) -> Path:
    spec = importlib.util.find_spec(f"duckdb_extension_{wheel}")
    folders = list(spec.submodule_search_locations or []) if spec else []
    if not folders:
        raise LakeError(NOT_INSTALLED)
    path = Path(folders[0]) / "extensions" / f"v{duckdb.__version__}" / f"{wheel}.duckdb_extension"
    if not path.exists():
        raise LakeError(f"The lake's package of {wheel} is not for DuckDB {duckdb.__version__}: reinstall it.")
    return path


def _attach(connection: duckdb.DuckDBPyConnection, config: LakeConfig, options: str) -> None:
    if s3 := config.s3:
        connection.execute("SET enable_server_cert_verification = true")  # curl's is on; httplib's is not
        if s3.ca_file:
            connection.execute(f"SET ca_cert_file = {quoted(str(s3.ca_file))}")
        connection.execute(
            f"CREATE SECRET lake_files (TYPE s3, KEY_ID {quoted(s3.key_id)}, SECRET {quoted(s3.secret)}, "
            f"ENDPOINT {quoted(s3.endpoint)}, REGION {quoted(s3.region)}, URL_STYLE 'path', USE_SSL {s3.use_ssl}, "
            f"SCOPE {quoted(config.data_path)})"
        )
    connection.execute(
        f"ATTACH {quoted(f'ducklake:postgres:{_with_timeout(config.catalogue)}')} AS {LAKE} "
        f"(DATA_PATH {quoted(config.data_path)}, DATA_INLINING_ROW_LIMIT 0{options})"
    )


def _with_timeout(dsn: str) -> str:
    return dsn if "connect_timeout" in dsn else f"{dsn} connect_timeout={CONNECT_TIMEOUT_S}"


@contextmanager
def advisory_lock(
    connection: duckdb.DuckDBPyConnection, name: str, shared: bool = False, waits: bool = False
) -> Iterator[bool]:
    """Hold PostgreSQL's advisory lock of a name, on a separate session, until left; yields whether it was acquired.

    The lock ends with its session, so a killed holder does not block others.
    """
    key = int.from_bytes(hashlib.sha256(f"pitwall {name}".encode()).digest()[:8], "big", signed=True)
    call = f"pg{'' if waits else '_try'}_advisory_xact_lock{'_shared' if shared else ''}({key})"
    cursor = connection.cursor()
    try:
        cursor.begin()
        rows = cursor.execute(f"FROM postgres_query('{LOCKS}', {quoted(f'SELECT {call}::text AS had')})").fetchall()
        yield waits or rows[0][0] == "true"
    finally:
        with suppress(duckdb.Error):
            roll_back(cursor)
        cursor.close()
