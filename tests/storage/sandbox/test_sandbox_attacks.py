"""Attacks with SQL: every attempt ends with one clear sentence, and the store is as it was.

Each of the three walls is attacked by itself too: the statement's check, DuckDB's settings and the kernel's.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from domain import Config, Run
from machine.run_with_timeout import run_bounded
from samples import Batch, Event
from settings import Settings
from storage.sandbox.client import ROOT, Sandbox
from storage.sandbox.job import MIB, Fault, SandboxJob, SandboxLimits, SqlRefusedError
from storage.sandbox.statement import check_statement
from storage.store import Store

pytestmark = pytest.mark.wide

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SECRET = "do not read me"
LIMITS = SandboxLimits(seconds=60.0, memory_bytes=128 * MIB, most_rows=1000, most_bytes=4 * MIB)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A closed store: five events of r1 sealed, three of r2 not, and a secret beside them."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("attacked") / "data")
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    run = Run(id="r1", name="one", color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW)
    store.save_run(run)
    store.write(Batch(tuple(Event("r1", NOW, "state", str(i)) for i in range(5)))).result()
    assert store.seal() == 1
    store.write(Batch(tuple(Event("r2", NOW, "state", str(i)) for i in range(3)))).result()
    store.close()
    settings.secret_path.write_text(SECRET)
    return settings


@pytest.fixture
def sandbox(settings: Settings) -> Sandbox:
    return Sandbox(settings, run_bounded, LIMITS)


def sums(settings: Settings) -> dict[str, str]:
    """Every file of the data folder by its content."""
    files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(autouse=True)
def untouched(settings: Settings) -> Iterator[None]:
    before = sums(settings)
    yield
    assert sums(settings) == before


def refusal(sandbox: Sandbox, sql: str) -> SqlRefusedError:
    with pytest.raises(SqlRefusedError) as caught:
        sandbox.ask(sql)
    assert str(caught.value).count("\n") == 0
    return caught.value


def placed(sql: str, settings: Settings) -> str:
    """An attack with this store's paths in it."""
    sealed = next(settings.parquet_dir.rglob("*.parquet"))
    return sql.format(
        secret=settings.secret_path, store=settings.store_path, published=settings.published_path,
        sealed=sealed, beside=sealed.with_name("2.parquet"), folder=settings.data_dir,
    )  # fmt: skip


def test_honest_queries_read_file_and_sealed_rows(sandbox: Sandbox) -> None:
    answer = sandbox.ask("SELECT run_id, count(*) AS n FROM events GROUP BY run_id ORDER BY run_id")
    assert answer.table.to_pylist() == [{"run_id": "r1", "n": 5}, {"run_id": "r2", "n": 3}]
    assert not answer.truncated


@pytest.mark.parametrize(
    "sql",
    [
        "FROM runs",
        "DESCRIBE runs",
        "SUMMARIZE events",
        "FROM run_windows(2)",
        "FROM run_windows(2, run_ids := ['r1']) JOIN events_of(['r1', 'r2']) USING (run_id)",
        "FROM run_samples_since(NULL::TIMESTAMPTZ)",
        "WITH a AS (SELECT 1 AS x), b AS MATERIALIZED (FROM a) SELECT * FROM a JOIN b USING (x)",
        "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t WHERE x < 5) FROM t",
        "SELECT list_transform([1, 2], lambda x: x + 1), now(), {{'a': 1}}",
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal",
        "SELECT text, row_number() OVER (ORDER BY ts) FROM events UNION ALL (SELECT 'x', 1) ORDER BY 1 LIMIT 3;",
        "FROM events PIVOT (count(*) FOR kind IN ('state'))",
        "-- a comment\nSELECT 1 /* and another */",
        "EXPLAIN SELECT * FROM runs",
        " explain  analyze FROM events",
    ],
)
def test_what_analysts_write_is_let_through(sandbox: Sandbox, sql: str) -> None:
    assert sandbox.ask(sql.replace("{{", "{").replace("}}", "}")).table.num_columns > 0


STATEMENTS = [
    "COPY (SELECT 1) TO '{folder}/x.csv'",
    "COPY (SELECT 1) TO '{published}'",
    "COPY (SELECT 1) TO '{sealed}' (USE_TMP_FILE false)",
    "COPY runs FROM '{secret}'",
    "ATTACH '{store}' AS s",
    "ATTACH ':memory:' AS m",
    "EXPORT DATABASE '{folder}/export'",
    "IMPORT DATABASE '{folder}/export'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '100GB'",
    "SET lock_configuration = false",
    "RESET ALL",
    "PRAGMA database_list",
    "PRAGMA enable_profiling",
    "CALL pragma_version()",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/x.csv'",
    "EXPLAIN ANALYZE DELETE FROM raw.runs",
    "EXPLAIN SELECT 1; COPY (SELECT 1) TO '{folder}/x.csv'",
    "EXPLAIN /**/ ANALYZE COPY (SELECT 1) TO '{folder}/x.csv'",
    "EXPLAIN EXPLAIN ANALYZE DELETE FROM raw.runs",
    "EXPLAIN ANALYZE FROM read_text('{secret}')",
    "DELETE FROM raw.runs",
    "UPDATE raw.runs SET name = 'x'",
    "INSERT INTO raw.runs SELECT * FROM raw.runs",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TEMP MACRO r(x) AS TABLE FROM read_text(x)",
    "DROP VIEW runs",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "USE memory",
    "PREPARE p AS SELECT 1",
    "WITH d AS (COPY (SELECT 1) TO '{published}') FROM d",
    "WITH d AS (DELETE FROM raw.runs RETURNING *) FROM d",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY (SELECT 1) TO '{folder}/x.csv'",
    "",
    "-- nothing",
]  # fmt: skip
READERS = [
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM READ_TEXT('{secret}')",
    'SELECT * FROM main."read_text"(\'{secret}\')',
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_csv_auto('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{sealed}')",
    "SELECT * FROM parquet_scan('{sealed}')",
    "SELECT * FROM parquet_metadata('{sealed}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM '{sealed}'",
    "SELECT * FROM '{secret}'",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "WITH a AS (FROM read_text('{secret}')) FROM a",
    "SELECT * FROM (SUMMARIZE FROM read_text('{secret}'))",
    "SELECT * FROM runs JOIN read_text('{secret}') ON true",
    "SELECT 1 UNION ALL SELECT content FROM read_text('{secret}')",
    "SELECT getenv('HOME')",
    "SELECT [getenv(x) for x in ['HOME']]",
    "SELECT * FROM json_execute_serialized_sql('{{}}')",
    "SELECT json_serialize_plan('SELECT * FROM read_text(''{secret}'')')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('runs')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM read_duckdb('{store}')",
    "SELECT sleep_ms(100000)",
    "SELECT write_log('x')",
    "SELECT * FROM checkpoint()",
    "SELECT * FROM enable_logging('QueryLog')",
    "SELECT * FROM python_map_function()",
]  # fmt: skip


@pytest.mark.parametrize("sql", [*STATEMENTS, *READERS])
def test_the_check_refuses_it(settings: Settings, sql: str) -> None:
    """The first wall alone: nothing is run."""
    with duckdb.connect(str(settings.published_path), read_only=True) as connection, pytest.raises(SqlRefusedError):
        check_statement(connection, placed(sql, settings))


@pytest.mark.parametrize(
    "sql", ["COPY (SELECT 1) TO '{published}'", "FROM read_text('{secret}')", "SELECT 1; SELECT 2"]
)
def test_a_refusal_says_what_is_refused(sandbox: Sandbox, settings: Settings, sql: str) -> None:
    actual_refusal = refusal(sandbox, placed(sql, settings))
    assert actual_refusal.fault is Fault.STATEMENT
    assert any(word in str(actual_refusal) for word in ("Only a SELECT", "read_text is not available", "One statement"))


BEHIND_THE_CHECK = """
import sys
import storage.sandbox.answering as child
if sys.argv[1] == "no kernel":
    child.confine_files = lambda paths: False
if sys.argv[1] == "no settings":
    import duckdb
    def connect(path, **_):
        return Deaf(duckdb.connect(path, read_only=True, config={"threads": 1}))
    child.duckdb = type("Duckdb", (), {"connect": connect})
class Deaf:
    def __init__(self, connection): self.connection = connection
    def execute(self, sql): return self.connection.execute("SELECT 1" if sql.startswith("SET ") else sql)
job = child.SandboxJob.decode(sys.stdin.buffer.read())
child.limit_resources(job.limits)
connection = child.open_locked(job)
try:
    print("DONE", connection.execute(job.sql).fetchall())
except Exception as error:
    print("REFUSED", error)
"""
HARMFUL = [
    "SELECT content FROM read_text('{secret}')",
    "COPY (SELECT 1) TO '{folder}/x.csv'",
    "COPY (SELECT 1) TO '{published}'",
    "COPY (SELECT 1) TO '{sealed}'",
    "COPY (SELECT 1) TO '{beside}' (USE_TMP_FILE false)",
    "ATTACH '{store}' AS s",
    "EXPORT DATABASE '{folder}/export'",
]  # fmt: skip


def behind_the_check(settings: Settings, missing: str, sql: str) -> str:
    """What becomes of a statement that got past the check, with another wall missing too."""
    job = SandboxJob(placed(sql, settings), str(settings.published_path), str(settings.parquet_dir), LIMITS)
    argv = [sys.executable, "-c", BEHIND_THE_CHECK, missing]
    return subprocess.run(argv, cwd=ROOT, input=job.encode(), capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize("sql", HARMFUL)
def test_duckdb_s_settings_hold_by_themselves(settings: Settings, sql: str) -> None:
    assert behind_the_check(settings, "no kernel", sql).startswith("REFUSED")


# DuckDB always allows the database's own file, and its mode stops everybody but root: the kernel is what stops these.
OVERWRITES = [
    "COPY (SELECT 1) TO '{published}' (USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '{sealed}' (USE_TMP_FILE false)",
]


@pytest.mark.parametrize("sql", [*HARMFUL, *OVERWRITES])
def test_the_kernel_holds_by_itself(settings: Settings, sql: str) -> None:
    assert behind_the_check(settings, "no settings", sql).startswith("REFUSED")


def test_settings_cannot_be_changed_back(settings: Settings) -> None:
    said = behind_the_check(settings, "no kernel", "SET allowed_paths = ['{secret}']")
    assert "configuration has been locked" in said


def test_sandboxed_process_has_no_environment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", SECRET)
    texts: list[dict[str, str]] = []

    def run(argv, cwd, environ, stdin, timeout_s):  # type: ignore[no-untyped-def]
        texts.append(dict(environ))
        return run_bounded(argv, cwd, environ, stdin, timeout_s)

    Sandbox(settings, run, LIMITS).ask("SELECT 1")
    assert texts == [{}]
