"""A start makes the views anew only where they are not what this Pitwall would make."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

import storage.catalog
from settings import Settings
from storage.catalog import HERE, migrate, renew_views
from storage.store import Store


@pytest.fixture
def view_creations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word for each time that all views are made."""
    texts: list[str] = []
    define = storage.catalog.define_views
    monkeypatch.setattr(storage.catalog, "define_views", lambda *args: (texts.append("made"), define(*args)))
    return texts


@pytest.fixture(autouse=True)
def create_store(settings: Settings) -> None:
    """A store that was opened and left."""
    Store.open(settings).close()


def test_they_stay_as_they_are(settings: Settings, view_creations: list[str]) -> None:
    Store.open(settings).close()
    assert view_creations == []


@pytest.mark.parametrize(
    "change",
    [
        "CREATE OR REPLACE VIEW main.runs AS SELECT 1 AS run_id",
        "DROP VIEW main.engine_samples",
        "CREATE VIEW main.mine AS SELECT 1",
        "COMMENT ON COLUMN main.runs.name IS 'mine'",
        "CREATE OR REPLACE MACRO main.ratio(a) AS a",
        "UPDATE raw.view_texts SET made_of = 'of an older Pitwall'",
    ],
)
@pytest.mark.wide
def test_what_is_changed_is_made_anew(settings: Settings, view_creations: list[str], change: str) -> None:
    views = as_it_stands(settings)
    with duckdb.connect(str(settings.store_path)) as connection:
        connection.execute(change)
    Store.open(settings).close()
    assert view_creations == ["made"]
    assert as_it_stands(settings) == views


def as_it_stands(settings: Settings) -> list[tuple[object, ...]]:
    with duckdb.connect(str(settings.store_path)) as connection:
        return connection.execute(
            "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE schema_name = 'main' ORDER BY ALL"
        ).fetchall()


def test_migrated_column_is_in_its_view(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "migrations"
    shutil.copytree(HERE / "migrations", folder)
    (folder / "0999_later.sql").write_text("ALTER TABLE raw.events ADD COLUMN severity VARCHAR")
    with duckdb.connect(str(settings.store_path)) as connection:
        migrate(connection, folder)
        renew_views(connection, settings.parquet_dir)
        assert "severity" in [row[0] for row in connection.execute("DESCRIBE events").fetchall()]
