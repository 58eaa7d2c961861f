"""A store and its sealed files through a later migration."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from domain import Config, Run
from samples import Batch, Event
from settings import Settings
from storage.catalog import HERE, define_views, migrate
from storage.database import StoreError
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def sealed_store(settings: Settings) -> None:
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    store.save_run(Run(id="r1", name="r1", color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW))
    store.write(Batch((Event("r1", NOW, "state", "old"),))).result()
    assert store.seal() == 1
    store.close()


def later_migrations(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "migrations"
    shutil.copytree(HERE / "migrations", folder)
    (folder / "0999_later.sql").write_text(text)
    return folder


def test_older_schema_files_are_read_with_newer(settings: Settings, tmp_path: Path) -> None:
    sealed_store(settings)
    folder = later_migrations(tmp_path, "ALTER TABLE raw.events ADD COLUMN severity VARCHAR")
    newer = settings.parquet_dir / "events" / "run_id=r1" / "2.parquet"
    with duckdb.connect(str(settings.store_path)) as connection:
        migrate(connection, folder)
        migrate(connection, folder)  # applied once
        connection.execute("INSERT INTO raw.events (run_id, text, severity) VALUES ('r1', 'new', 'low')")
        connection.execute(f"COPY raw.events TO '{newer}'")
        connection.execute(
            "INSERT INTO raw.sealed_files (path, table_name, run_id, row_count, schema_number) "
            "VALUES ('events/run_id=r1/2.parquet', 'events', 'r1', 1, 999)"
        )
        define_views(connection, settings.parquet_dir)
        rows = connection.execute("SELECT text, severity FROM events ORDER BY ALL").fetchall()
    assert rows == [("new", "low"), ("new", "low"), ("old", None)]


def test_failed_migration_leaves_nothing(settings: Settings, tmp_path: Path) -> None:
    sealed_store(settings)
    folder = later_migrations(tmp_path, "CREATE TABLE raw.half (a INT); SELECT * FROM raw.nowhere;")
    with duckdb.connect(str(settings.store_path)) as connection, pytest.raises(duckdb.Error):
        migrate(connection, folder)
    store = Store.open(settings)
    assert store.query("SELECT table_name FROM duckdb_tables() WHERE table_name = 'half'").num_rows == 0
    assert store.query("SELECT text FROM events")["text"].to_pylist() == ["old"]
    store.close()


@pytest.mark.parametrize("number", [1, 150])
def test_store_before_first_schema_is_refused(settings: Settings, number: int) -> None:
    Store.open(settings).close()
    with duckdb.connect(str(settings.store_path)) as connection:
        connection.execute("UPDATE raw.migrations SET number = ?", [number])
    with pytest.raises(StoreError, match=rf"from before 0.1.0 \(schema {number}, the oldest readable one is 160\)"):
        Store.open(settings)


def test_migration_names_are_numbered() -> None:
    numbers = [int(path.name[:4]) for path in sorted((HERE / "migrations").iterdir())]
    assert numbers == sorted(set(numbers)) and numbers[0] == 160
