"""SQL over the lake: the rows of all boxes, and no way to anything else, whatever a statement says.

Behind the check of the statement stand DuckDB's settings, the rights of role and key, and a network of two ports; each
is attacked with the check taken down.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from machine.private_files import write_private
from machine.run_with_timeout import run_bounded
from storage.lake.config import LakeConfig, ReaderAccess
from storage.lake.connection import opened_lake
from storage.lake.layout import make_lake, required_columns
from storage.sandbox.client import SandboxExit
from storage.sandbox.job import Fault, SqlRefusedError
from storage.sandbox.lake.client import LakeSandbox
from tests.storage.lake.boxes import Box, lake_toml
from tests.storage.lake.servers import KEYS, Postgres

pytestmark = pytest.mark.lake

Boxes = Callable[[str], Box]
ROLE_WORD = "the-reader's pass word"


@pytest.fixture
def lake_sandbox(boxes: Boxes, config: LakeConfig, postgres: Postgres) -> tuple[LakeSandbox, LakeConfig]:
    """Two boxes that have shipped; the first asks, with a role and a key that may only read."""
    one, two = boxes("one"), boxes("two")
    one.add_runs("a", 2)
    two.add_runs("b", 1)
    for box in (one, two):
        box.ship()
    name = config.data_path.rstrip("/").rpartition("/")[2]
    escaped = ROLE_WORD.replace("'", "''")
    postgres.run(f"CREATE ROLE sql_{name} LOGIN PASSWORD '{escaped}'")
    with opened_lake(config) as connection:
        make_lake(connection, required_columns(one.store.query), f"sql_{name}")
    in_dsn = "'" + ROLE_WORD.replace("'", "\\'") + "'"
    key_id, secret = KEYS["ro"]
    reader = ReaderAccess(catalogue=postgres.dsn(name, f"sql_{name}", in_dsn), key_id=key_id, secret=secret)
    words = reader.catalogue.replace("\\", "\\\\")
    text = lake_toml(config) + f'[reader]\ncatalogue = "{words}"\nkey_id = "{key_id}"\nsecret = "{secret}"\n'
    write_private(one.settings.lake_path, text.encode())
    return LakeSandbox(one.settings, run_bounded), config.model_copy(update={"reader": reader})


def secrets_of(config: LakeConfig) -> list[str]:
    assert config.s3 and config.reader
    own = config.catalogue.partition("password=")[2]
    return [own, config.s3.key_id, config.s3.secret, ROLE_WORD, config.reader.key_id, config.reader.secret]


def test_the_views_answer_about_all_boxes(lake_sandbox: tuple[LakeSandbox, LakeConfig]) -> None:
    sandbox, _ = lake_sandbox
    rows = sandbox.ask("SELECT run_id, machine_id FROM runs ORDER BY run_id").table.to_pylist()
    assert rows == [
        {"run_id": "a000", "machine_id": "machine-of-one"},
        {"run_id": "a001", "machine_id": "machine-of-one"},
        {"run_id": "b000", "machine_id": "machine-of-two"},
    ]
    counted = (
        "SELECT run_id, count(*) AS n, sum(completion_tokens) AS tokens FROM requests_of(['b000']) GROUP BY run_id"
    )
    assert sandbox.ask(counted).table.to_pylist() == [{"run_id": "b000", "n": 30, "tokens": 1500}]
    assert sandbox.ask("FROM run_windows(2, run_ids := ['a000'])").table.num_columns > 10


REFUSED_BY_THE_CHECK = [
    "FROM read_csv('http://127.0.0.1:{port}/x.csv')",
    "FROM read_parquet('s3://elsewhere/x.parquet')",
    "FROM 's3://pitwall/x.parquet'",
    "FROM postgres_scan('host=127.0.0.1 port={port}', 'public', 'runs')",
    "FROM postgres_query('__ducklake_metadata_lake', 'SELECT 1')",
    "FROM lake.run_versions",
    "FROM __ducklake_metadata_lake.ducklake_data_file",
    "FROM __ducklake_metadata_lake.public.ducklake_metadata",
    "FROM lake.snapshots()",
    "FROM duckdb_secrets()",
    "FROM which_secret('{data}', 's3')",
    "FROM duckdb_databases()",
    "FROM duckdb_databases",
    "FROM main.pragma_database_list",
    "FROM pg_catalog.pg_settings",
    "FROM duckdb_settings()",
    "SELECT getenv('HOME')",
    "COPY (FROM runs) TO '{data}x.parquet'",
    "INSERT INTO lake.requests FROM lake.requests",
    "DELETE FROM lake.requests",
    "ATTACH 'host=127.0.0.1 port={port}' AS other (TYPE postgres)",
    "ATTACH 'ducklake:postgres:host=127.0.0.1 port={port}' AS other",
    "CALL postgres_execute('__ducklake_metadata_lake', 'DELETE FROM pitwall_parts')",
    "SET http_proxy = ''",
    "INSTALL httpfs",
]  # fmt: skip


def placed(sql: str, config: LakeConfig, port: int) -> str:
    return sql.format(data=config.data_path, port=port)


def test_overreaching_query_is_refused_unrun(lake_sandbox: tuple[LakeSandbox, LakeConfig]) -> None:
    sandbox, config = lake_sandbox
    for sql in REFUSED_BY_THE_CHECK:
        with pytest.raises(SqlRefusedError) as refusal:
            sandbox.ask(placed(sql, config, 9))
        assert refusal.value.fault is Fault.STATEMENT, sql
        assert any(word in str(refusal.value) for word in ("available", "Only", "Files")), (sql, str(refusal.value))


WITHOUT_THE_CHECK = """
import sys
import storage.sandbox.lake.__main__ as entry
from storage.sandbox.lake import network
missing = sys.argv[1:]
def prepared():
    is_apart = "network" not in missing and network.isolate()
    import storage.sandbox.answering as common
    import storage.sandbox.lake.answering as lake
    common.check_statement = lambda connection, sql: None
    if "settings" in missing:
        lake.close_settings = lambda connection, config: None
    if "kernel" in missing:
        lake.confine_files = lambda paths, ports: True
    return is_apart
entry.can_isolate, entry.isolate = lambda: True, prepared
entry.main()
"""


def behind_the_check(lake_sandbox: tuple[LakeSandbox, LakeConfig], sql: str, *missing: str) -> str:
    """What becomes of a statement that got past the check, with other walls missing too."""

    def run(argv: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes, timeout_s: float) -> SandboxExit:
        return run_bounded([sys.executable, "-c", WITHOUT_THE_CHECK, *missing], cwd, environ, stdin, timeout_s)

    try:
        return f"DONE {LakeSandbox(lake_sandbox[0].settings, run).ask(sql).table.to_pylist()}"
    except SqlRefusedError as refusal:
        return f"REFUSED {refusal}"


@pytest.fixture
def stranger() -> Iterator[socket.socket]:
    """Somebody who listens on this machine, and whom no statement is to reach."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def was_reached(stranger: socket.socket) -> bool:
    try:
        stranger.accept()[0].close()
    except BlockingIOError:
        return False
    return True


TO_A_STRANGER = [
    "FROM read_csv('http://127.0.0.1:{port}/x.csv')",
    "FROM postgres_scan('host=127.0.0.1 port={port} connect_timeout=3', 'public', 'runs')",
    "ATTACH 'host=127.0.0.1 port={port} connect_timeout=3' AS other (TYPE postgres)",
]


@pytest.mark.parametrize("missing", [("settings", "kernel"), ("settings", "network")], ids="+".join)
def test_one_wall_of_the_network_is_enough(
    lake_sandbox: tuple[LakeSandbox, LakeConfig], stranger: socket.socket, missing: tuple[str, ...]
) -> None:
    """Without DuckDB's settings: once the network namespace alone, once Landlock's ports alone."""
    port = stranger.getsockname()[1]
    assert behind_the_check(lake_sandbox, "SELECT count(*) AS n FROM requests", *missing) == "DONE [{'n': 90}]"
    for sql in TO_A_STRANGER:
        assert behind_the_check(lake_sandbox, placed(sql, lake_sandbox[1], port), *missing).startswith("REFUSED"), sql
    assert not was_reached(stranger)


def test_without_any_wall_the_stranger_is_reached(
    lake_sandbox: tuple[LakeSandbox, LakeConfig], stranger: socket.socket
) -> None:
    """That the attacks above are attacks."""
    sql = placed(TO_A_STRANGER[1], lake_sandbox[1], stranger.getsockname()[1])
    behind_the_check(lake_sandbox, sql, "settings", "kernel", "network")
    assert was_reached(stranger)


WRITES = [
    "INSERT INTO lake.requests FROM lake.requests",
    "DELETE FROM lake.requests",
    "CREATE TABLE lake.more (a INTEGER)",
    "CALL postgres_execute('__ducklake_metadata_lake', 'DELETE FROM pitwall_parts')",
    "COPY (SELECT 1 AS a) TO '{data}x.parquet'",
    "COPY (SELECT 1 AS a) TO 's3://pitwall/x.parquet'",
    "COPY (SELECT 1 AS a) TO '/tmp/pitwall-x.parquet'",
    "FROM read_text('s3://elsewhere/known.txt')",
    "FROM read_text('/etc/passwd')",
    "ATTACH '/tmp/pitwall-x.duckdb' AS other",
    "SET enable_external_access = true",
]  # fmt: skip


def test_lake_query_writes_and_reads_nothing_else(lake_sandbox: tuple[LakeSandbox, LakeConfig]) -> None:
    """DuckDB's settings, and behind them the rights of role and key."""
    _, config = lake_sandbox
    put_elsewhere(config)
    for sql in WRITES:
        assert behind_the_check(lake_sandbox, placed(sql, config, 9)).startswith("REFUSED"), sql
    for sql in WRITES[:-1]:
        assert behind_the_check(lake_sandbox, placed(sql, config, 9), "settings").startswith("REFUSED"), sql
    with opened_lake(config, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM lake.requests").fetchall() == [(90,)]
        assert connection.execute(f"FROM glob('{config.data_path}x*')").fetchall() == []


def put_elsewhere(config: LakeConfig) -> None:
    """An object of another bucket, by the key that may write."""
    with opened_lake(config) as connection:
        assert config.s3
        connection.execute(
            f"CREATE SECRET wide (TYPE s3, KEY_ID '{config.s3.key_id}', SECRET '{config.s3.secret}', URL_STYLE 'path', "
            f"ENDPOINT '{config.s3.endpoint}', REGION 'us-east-1', USE_SSL false, SCOPE 's3://elsewhere')"
        )
        connection.execute("COPY (SELECT 'x' AS a) TO 's3://elsewhere/known.txt' (FORMAT csv)")
        assert connection.execute("FROM glob('s3://elsewhere/*')").fetchall()


def test_no_secret_is_in_an_answer_or_an_error(lake_sandbox: tuple[LakeSandbox, LakeConfig]) -> None:
    """Without the check, the only name left in what DuckDB tells about itself is the key's id."""
    _, config = lake_sandbox
    told = []
    for sql in ("FROM duckdb_databases()", "FROM duckdb_settings()", "FROM duckdb_views()", "EXPLAIN ANALYZE FROM runs",
                "FROM pragma_database_list", "FROM __ducklake_metadata_lake.ducklake_metadata",
                "FROM postgres_query('__ducklake_metadata_lake', 'SELECT no_such_column')"):  # fmt: skip
        told.append(behind_the_check(lake_sandbox, sql))
    assert sum(text.startswith("DONE") for text in told) >= 5, told
    known_text = behind_the_check(lake_sandbox, "FROM duckdb_secrets()").replace(
        config.reader.key_id if config.reader else "", ""
    )
    for text in [*told, known_text]:
        assert not [secret for secret in secrets_of(config) if secret in text]


def test_absent_lake_is_reported_without_secret(lake_sandbox: tuple[LakeSandbox, LakeConfig]) -> None:
    sandbox, config = lake_sandbox
    path = sandbox.settings.lake_path
    text = path.read_text()
    for wrong in (text.replace("port=", "port=1"), text.replace("pass word", "pass-word")):
        write_private(path, wrong.encode())
        with pytest.raises(SqlRefusedError, match="The lake does not answer") as refusal:
            sandbox.ask("FROM runs")
        assert refusal.value.fault is Fault.UNAVAILABLE
        assert not [secret for secret in secrets_of(config) if secret in str(refusal.value)]


def test_without_a_reader_the_lake_is_not_asked(boxes: Boxes) -> None:
    box: Box = boxes("alone")
    with pytest.raises(SqlRefusedError, match=r"\[reader\]") as refusal:
        LakeSandbox(box.settings, run_bounded).ask("FROM runs")
    assert refusal.value.fault is Fault.UNAVAILABLE
