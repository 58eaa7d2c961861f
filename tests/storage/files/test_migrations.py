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
from storage import catalog
from storage.catalog import HERE, define_views, migrate
from storage.rows import TIME_COLUMNS
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


def test_files_sealed_under_an_older_schema_are_read_beside_newer_ones(settings: Settings, tmp_path: Path) -> None:
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
        found = connection.execute("SELECT text, severity FROM events ORDER BY ALL").fetchall()
    assert found == [("new", "low"), ("new", "low"), ("old", None)]


def test_a_migration_that_fails_leaves_nothing_behind(settings: Settings, tmp_path: Path) -> None:
    sealed_store(settings)
    folder = later_migrations(tmp_path, "CREATE TABLE raw.half (a INT); SELECT * FROM raw.nowhere;")
    with duckdb.connect(str(settings.store_path)) as connection, pytest.raises(duckdb.Error):
        migrate(connection, folder)
    store = Store.open(settings)
    assert store.query("SELECT table_name FROM duckdb_tables() WHERE table_name = 'half'").num_rows == 0
    assert store.query("SELECT text FROM events")["text"].to_pylist() == ["old"]
    store.close()


# Tables that the first schema did not have.
LATER = {"loads", "load_phases", "load_counters", "results", "checks", "accuracy", "accuracy_items", "latency_samples"}
NUMBERS = sorted(int(path.name[:4]) for path in (HERE / "migrations").glob("[0-9]*.sql"))


COLUMNS = "SELECT schema_name, table_name, column_name, data_type, is_nullable FROM duckdb_columns() ORDER BY ALL"


@pytest.fixture(scope="module")
def columns_now(empty_store: Path) -> list[tuple[object, ...]]:
    """Every column of every table and view of a store that is new."""
    with duckdb.connect(str(empty_store), read_only=True) as connection:
        return connection.execute(COLUMNS).fetchall()


@pytest.mark.parametrize("number", NUMBERS)
def test_a_store_of_each_earlier_schema_opens_with_its_data(
    settings: Settings,
    tmp_path: Path,
    number: int,
    columns_now: list[tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row in every table there was, one of them sealed under that schema, and all of them readable afterwards.

    Its tables are then those of a new store, so that the oldest answers for all that their views are, and do not fail:
    making them would take half of the time of each.
    """
    is_oldest = number == NUMBERS[0]
    if not is_oldest:
        monkeypatch.setattr(catalog, "VIEWS", ())
    tables = store_of_schema(settings, tmp_path, number)
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    applied = store.query("SELECT number FROM raw.migrations ORDER BY number")["number"].to_pylist()
    assert applied == NUMBERS
    run = store.run("old")
    assert run and run.config.model == "org/m"
    store.save_run(run.model_copy(update={"id": "new"}))
    for table in TIME_COLUMNS:
        rows = store.query(f"SELECT run_id FROM {table} ORDER BY ALL")["run_id"].to_pylist()
        assert rows == (["old", "old"] if table == "events" else ["old"] * (table in tables))
    assert {"runs", "tail_positions", *TIME_COLUMNS} - tables <= LATER
    columns = [tuple(row.values()) for row in store.query(COLUMNS).to_pylist()]
    assert {column for column in columns_now if is_oldest or column[0] == "raw"} <= set(columns) <= set(columns_now)
    if is_oldest:
        store.seal()
        views = store.query("SELECT view_name FROM duckdb_views() WHERE NOT internal AND schema_name = 'main'")
        for view in views["view_name"].to_pylist():
            store.query(f"FROM {view}")
    store.close()


def store_of_schema(settings: Settings, tmp_path: Path, number: int) -> set[str]:
    """A store as the Pitwall of that schema left it; the names of its tables."""
    folder = tmp_path / "earlier"
    folder.mkdir()
    for path in (HERE / "migrations").glob("[0-9]*.sql"):
        if int(path.name[:4]) <= number:
            shutil.copy(path, folder)
    sealed = settings.parquet_dir / "events/run_id=old/1.parquet"
    sealed.parent.mkdir(parents=True)
    with duckdb.connect(str(settings.store_path)) as connection:
        migrate(connection, folder)
        names = {row[0] for row in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        for table, column in TIME_COLUMNS.items():
            if table in names:
                connection.execute(f"INSERT INTO raw.{table} (run_id, {column}) VALUES ('old', ?)", [NOW])
        connection.execute(f"COPY raw.events TO '{sealed}' (FORMAT parquet)")
        schema = ", schema_number" if number >= 2 else ""
        value = f", {number}" if number >= 2 else ""
        connection.execute(
            f"INSERT INTO raw.sealed_files (path, table_name, run_id, row_count{schema}) "
            f"VALUES ('events/run_id=old/1.parquet', 'events', 'old', 1{value})"
        )
        connection.execute(
            "INSERT INTO raw.runs (id, name, color, kind, state, config, stop_when_done, machine_id, ready_timeout_s, "
            "created_at, ended_at) VALUES ('old', 'old', 0, 'launched', 'finished', '{\"model\": \"org/m\"}', true, "
            "'m', 600, ?, ?)",
            [NOW, NOW],
        )
        connection.execute("UPDATE raw.commits SET number = 7")
    return names
