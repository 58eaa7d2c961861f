"""The store's views over a lake's tables; plain DuckDB tables stand in for DuckLake's, which `make test-lake` has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from settings import Settings
from storage.lake.lake_reader import define_lake_views
from storage.lake.layout import required_columns, version_table
from storage.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path))
    yield opened
    opened.close()


def lake_of(store: Store, *lacking: str) -> duckdb.DuckDBPyConnection:
    """An empty lake, as an older Pitwall made it without some tables."""
    connection = duckdb.connect()
    connection.execute("ATTACH ':memory:' AS lake")
    for table, columns in required_columns(store.query).items():
        if table not in lacking:
            listed = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
            connection.execute(f"CREATE TABLE lake.{table} ({listed})")
    return connection


def test_all_views_and_macros_exist_over_a_lake(store: Store) -> None:
    with lake_of(store) as lake:
        define_lake_views(lake, store.query("FROM raw.metric_definitions"))
        lake.execute(
            "INSERT INTO lake.run_versions BY NAME "
            "SELECT 'a' AS id, 'finished' AS state, 1 AS shipped_version, false AS is_deleted"
        )
        lake.execute(
            f"INSERT INTO lake.{version_table('run_notes')} BY NAME "
            "SELECT 'a' AS run_id, 1 AS version, ['new'] AS tags, 1 AS shipped_version, false AS is_deleted"
        )
        assert lake.execute("SELECT run_id FROM runs_found(tags := ['new'])").fetchall() == [("a",)]
        assert lake.execute("SELECT run_id FROM runs_found(tags := ['old'])").fetchall() == []


def test_what_an_older_lake_lacks_is_empty(store: Store) -> None:
    lacking = ("slot_samples", version_table("machine_labels"))
    with lake_of(store, *lacking) as lake:
        picked = define_lake_views(lake, store.query("FROM raw.metric_definitions"))
        assert not picked.keys() & {"slot_samples", "machine_labels"}
        assert lake.execute("SELECT count(*) FROM slot_samples").fetchall() == [(0,)]
        assert lake.execute("SELECT count(*) FROM machines").fetchall() == [(0,)]
