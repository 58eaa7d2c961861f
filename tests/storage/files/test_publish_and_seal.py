"""The published file, read from another process and another folder."""

from __future__ import annotations

import shutil
import stat
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest

from domain import Config, Run
from samples import Batch, Event
from settings import Settings
from storage.database import Database
from storage.files import publish
from storage.store import Store

pytestmark = pytest.mark.publishes

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def make_run(run_id: str, ended_at: datetime | None) -> Run:
    return Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=ended_at)


def events(run_id: str, first: int, count: int) -> Batch:
    return Batch(tuple(Event(run_id, NOW + timedelta(seconds=i), "state", str(i)) for i in range(first, first + count)))


def published(settings: Settings, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(settings.published_path), read_only=True) as reader:
        return reader.execute(sql).fetchall()


def test_published_file_is_instant_and_read_only(settings: Settings, store: Store) -> None:
    assert stat.S_IMODE(settings.published_path.stat().st_mode) == 0o400
    assert published(settings, "SELECT run_id FROM runs") == []


def test_what_was_written_is_published_by_itself(settings: Settings, store: Store) -> None:
    store.save_run(make_run("r1", None))
    deadline = time.monotonic() + 30
    while not published(settings, "SELECT run_id FROM runs") and time.monotonic() < deadline:
        time.sleep(0.1)
    assert published(settings, "SELECT run_id FROM runs") == [("r1",)]


def test_closing_publishes_the_last_rows(settings: Settings) -> None:
    store = Store.open(settings)
    store.write(events("r1", 0, 3))
    store.close()
    assert published(settings, "SELECT count(*) FROM events") == [(3,)]


def test_only_nonempty_tables_are_queried(settings: Settings, store: Store, tmp_path: Path) -> None:
    """Of rows in the file and of those that only its log has."""
    store.save_run(make_run("r1", NOW))
    for number in range(2):
        store.write(events("r1", number, 1)).result()
    left_settings = Settings(data_dir=tmp_path / "left")
    left_settings.data_dir.mkdir()
    for path in settings.data_dir.glob("store.duckdb*"):  # as a kill -9 now would leave it
        shutil.copy(path, left_settings.data_dir)
    assert left_settings.store_path.with_name("store.duckdb.wal").stat().st_size
    store.close()
    for place in (left_settings, settings):
        database = Database(place.store_path)
        with database.cursor() as cursor:
            tables = publish.filled_tables(cursor)
            counts = {name: cursor.execute(f"SELECT count(*) FROM raw.{name}").fetchone() for name in tables}
            assert tables & set(publish.PUBLISHED_TABLES) == {"runs", "events", "commits"}
        assert (counts["runs"], counts["events"]) == ((1,), (2,))
        database.close()


def test_published_file_has_views_and_comments(settings: Settings, store: Store) -> None:
    names = "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' ORDER BY 1"
    macros = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY 1"
    for sql in (names, macros):
        values = [tuple(row.values()) for row in store.query(sql).to_pylist()]
        assert published(settings, sql) == values != []


@pytest.mark.parametrize(
    ("made", "stays"),
    [
        ("CREATE SCHEMA mine; CREATE VIEW mine.v AS SELECT 1 AS one; CREATE MACRO mine.m(a) AS a + 1", "mine.v"),
        ('CREATE VIEW raw.v AS SELECT 1 AS one; CREATE VIEW "a""b" AS SELECT 1', "raw.v"),
        ("CREATE SCHEMA mine; CREATE TABLE mine.t (a INT); CREATE VIEW gone AS FROM mine.t; DROP TABLE mine.t", "runs"),
    ],
)
def test_personal_store_objects_stop_nothing(settings: Settings, made: str, stays: str) -> None:
    Store.open(settings).close()
    with duckdb.connect(str(settings.store_path)) as other_connection:
        other_connection.execute(made)
    store = Store.open(settings)
    assert store.query(f"FROM {stays}") is not None
    store.close()
    assert published(settings, f"FROM {stays}") == ([] if stays == "runs" else [(1,)])


def test_unfinished_template_is_rewritten(settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.save_run(make_run("r1", None))
    (settings.data_dir / ".monitor.template").unlink()
    with monkeypatch.context() as full:
        full.setattr(publish, "make_private", Mock(side_effect=OSError("No space left on device")))
        with pytest.raises(OSError, match="No space"):
            store.publish()
    store.publish()
    assert published(settings, "SELECT run_id FROM runs") == [("r1",)]


def test_template_waits_during_table_listing(settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the lake's shipper does: what was attached meanwhile is written down only when that question has ended."""
    connection, sealed_state = store._database._connection, publish._sealed_state

    def look_beside(cursor: duckdb.DuckDBPyConnection, schema: str = "raw") -> publish.SealedState:
        if schema != "raw":
            other_cursor = connection.cursor()
            other_cursor.begin()
            other_cursor.execute("FROM duckdb_columns()").fetchall()
            threading.Timer(0.3, other_cursor.close).start()
        return sealed_state(cursor, schema)

    monkeypatch.setattr(publish, "_sealed_state", look_beside)
    monkeypatch.setattr(store._publisher, "_template_state", None)
    store.save_run(Run(id="r1", name="r", color=0, machine_id="m", config=Config(), created_at=datetime.now(UTC)))
    store.publish()
    with duckdb.connect(str(settings.published_path), read_only=True) as published:
        assert published.execute("SELECT run_id FROM runs").fetchall() == [("r1",)]
