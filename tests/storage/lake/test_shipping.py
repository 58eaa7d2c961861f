"""Sealed runs come to the lake once: changed, deleted, restored elsewhere, by a bundle, part by part."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from domain import RunState
from samples import Batch, Event
from settings import Settings
from storage.files import merge
from storage.lake.backlog import sealed_parts
from storage.lake.config import LakeConfig, LakeError
from storage.lake.connection import opened_lake
from storage.lake.lake_reader import opened_reader
from storage.lake.layout import add_missing, lake_columns, make_lake, required_columns
from storage.lake.owner import owner_id
from storage.lake.ship import LedgerState
from storage.lake.upkeep import check_lake
from storage.store import Store
from storage.transfer.backup import restore_backup, write_backup
from storage.transfer.bundle import export_runs
from storage.transfer.bundle_import import import_bundle
from tests.storage.lake.boxes import NOW, Box, assert_whole, lake_rows
from tests.storage.lake.servers import Postgres

pytestmark = pytest.mark.lake

Boxes = Callable[[str], Box]


def test_sealed_rows_ship_once_and_new_rows_later(boxes: Boxes, config: LakeConfig) -> None:
    one, two = boxes("one"), boxes("two")
    one.add_runs("a", 30)
    two.add_runs("b", 3)
    assert one.ship().records == 30
    assert two.ship().parts == 3 * 4
    assert (one.ship().parts, one.ship().records) == (0, 0)
    one.add_run("late")
    assert one.ship().parts == 0, "it is not sealed yet"
    one.seal()
    assert one.ship().parts == 4
    assert_whole(config, one, two)


def test_nothing_ships_before_the_lake_exists(settings: Settings, store: Store, config: LakeConfig) -> None:
    """A Pitwall with a lake.toml would ship at once, and two of them what PostgreSQL does not refuse yet."""
    box = Box("early", settings, store, config)
    box.add_runs("a", 1)
    with pytest.raises(LakeError, match="The lake is not initialised"), opened_lake(config, read_only=True):
        pass
    with opened_lake(config) as connection:
        with pytest.raises(LakeError, match=r"The lake has no table \w+: `\./pitwall lake init` makes"):
            check_lake(config)
        for _ in range(2):
            with pytest.raises(LakeError, match=r"not made yet, so nothing is shipped: `\./pitwall lake init`"):
                box.shipper().ship(connection)
        assert lake_columns(connection) == {}
        make_lake(connection, required_columns(store.query))
    assert box.ship().parts == 4
    assert_whole(config, box)


def test_new_rule_applies_to_an_older_lake(boxes: Boxes, config: LakeConfig, postgres: Postgres) -> None:
    box = boxes("one")
    box.add_runs("a", 2)
    box.ship()
    database = config.data_path.split("/")[3]
    postgres.run("DROP TABLE pitwall_parts, pitwall_owners; DROP FUNCTION pitwall_take_once CASCADE", database)
    with opened_lake(config) as connection:
        for _ in range(2):  # again after an update
            make_lake(connection, required_columns(box.store.query))
        late = box.shipper()
        late._look_up = lambda *given: None  # type: ignore[method-assign]
        late._ledger = LedgerState()
        with pytest.raises(LakeError, match="pitwall_parts"):
            late.ship(connection)
    assert_whole(config, box)


def test_changed_run_adds_version_newest_is_read(boxes: Boxes, config: LakeConfig) -> None:
    box = boxes("one")
    box.add_runs("a", 2)
    box.ship()
    run = box.store.run("a000")
    assert run
    for note in ("first", "second", None):
        box.store.save_run(run.model_copy(update={"note": note}))
        assert box.ship().records == 1
    with opened_lake(config, read_only=True) as connection:
        rows = connection.execute(
            "SELECT shipped_version, note FROM lake.run_versions WHERE id = 'a000' ORDER BY 1"
        ).fetchall()
    assert rows == [(1, None), (2, "first"), (3, "second"), (4, None)]
    assert check_lake(config) == []


def test_notes_ship_and_deleted_run_is_hidden(boxes: Boxes, config: LakeConfig) -> None:
    box = boxes("one")
    box.add_runs("a", 2)
    box.ship()
    with box.store._database.transaction() as cursor:
        cursor.execute("INSERT INTO raw.run_notes BY NAME SELECT 'a000' AS run_id, 1 AS version, 'first' AS text")
        cursor.execute("INSERT INTO raw.run_notes BY NAME SELECT 'a000' AS run_id, 2 AS version, 'second' AS text")
    assert box.ship().records == 1
    definitions = box.store.query("FROM raw.metric_definitions")
    with opened_reader(config, definitions) as lake:
        assert lake.query("SELECT run_id, version, text FROM run_notes").to_pylist() == [
            {"run_id": "a000", "version": 2, "text": "second"}
        ]
    with box.store._database.transaction() as cursor:
        cursor.execute("INSERT INTO raw.deleted_runs BY NAME SELECT id AS run_id FROM raw.runs WHERE id = 'a001'")
        table = cursor.execute("FROM raw.runs WHERE id = 'a001'").to_arrow_table()
        cursor.execute("DELETE FROM raw.runs WHERE id = 'a001'")
    assert box.ship().records == 1
    with opened_reader(config, definitions) as lake:
        assert lake.query("SELECT run_id FROM runs")["run_id"].to_pylist() == ["a000"]
    with box.store._database.transaction() as cursor:  # it is taken back
        cursor.register("kept", table)
        cursor.execute("DELETE FROM raw.deleted_runs; INSERT INTO raw.runs BY NAME FROM kept")
        cursor.unregister("kept")
    assert box.ship().records == 1
    with opened_reader(config, definitions) as lake:
        assert lake.query("SELECT run_id FROM runs ORDER BY 1")["run_id"].to_pylist() == ["a000", "a001"]
    assert check_lake(config) == []


def test_restored_store_ships_under_its_own_id(boxes: Boxes, config: LakeConfig, tmp_path: Path) -> None:
    box = boxes("one")
    box.add_runs("a", 3)
    box.ship()
    write_backup(box.settings, tmp_path / "copy.zip", NOW)
    elsewhere = Settings(data_dir=tmp_path / "restored")
    restore_backup(elsewhere, tmp_path / "copy.zip")
    store = Store.open(elsewhere)
    try:
        restored = Box("restored", elsewhere, store, config)
        restored.add_runs("n", 2)
        assert owner_id(elsewhere) != owner_id(box.settings)
        assert restored.ship().parts == 2 * 4
        box.add_runs("m", 1)
        assert box.ship().parts == 4
        assert_whole(config, box, restored)
    finally:
        store.close()


def test_bundled_runs_ship_only_from_their_owner(boxes: Boxes, config: LakeConfig, tmp_path: Path) -> None:
    owner, other_boxes = boxes("owner"), boxes("other")
    owner.add_runs("a", 1)
    bundle = tmp_path / "a.pitwall.zip"
    export_runs(owner.store.query, ["a000"], bundle, NOW, lambda text: text)
    import_bundle(other_boxes.store, other_boxes.settings, bundle)
    other_boxes.store.publish()
    assert (other_boxes.ship().parts, lake_rows(config)) == (0, {})
    owner.ship()
    other_boxes.ship()
    assert_whole(config, owner)


def test_old_and_new_schema_ship_side_by_side(boxes: Boxes, config: LakeConfig) -> None:
    """A later Pitwall adds its columns to the lake that an older one made, and both go on."""
    old, new = boxes("old"), boxes("new")
    old.add_runs("a", 1)
    old.ship()
    now = required_columns(new.store.query)
    later = now | {
        "events": now["events"] | {"later": "VARCHAR"},
        "run_versions": now["run_versions"] | {"more": "BIGINT"},
    }
    with opened_lake(config) as connection:
        assert add_missing(connection, later)
        connection.execute(  # as the later one's insert by name would
            "INSERT INTO lake.events BY NAME SELECT 'b000' AS run_id, 'x' AS later;"
            "INSERT INTO lake.shipments BY NAME SELECT 'b000' AS run_id, 'events' AS table_name, '1' AS part, "
            "'later' AS owner, 1 AS row_count"
        )
        assert not add_missing(connection, now), "an older one takes nothing away"
    old.add_runs("c", 1)
    assert old.ship().parts == 4
    assert check_lake(config) == []
    with opened_lake(config, read_only=True) as connection:
        rows = connection.execute("SELECT DISTINCT run_id, later FROM lake.events ORDER BY 1").fetchall()
    assert rows == [("a000", None), ("b000", "x"), ("c000", None)]
    with opened_reader(config, old.store.query("FROM raw.metric_definitions")) as lake:
        assert lake.query("SELECT DISTINCT run_id FROM events ORDER BY 1")["run_id"].to_pylist() == [
            row[0] for row in rows
        ]


def test_live_run_ships_in_parts(boxes: Boxes, config: LakeConfig) -> None:
    box = boxes("one")
    run = box.add_run("a")
    box.seal()
    box.store.save_run(run.model_copy(update={"state": RunState.FINISHED}))
    box.ship()
    box.store.write(Batch((Event("a", NOW + timedelta(hours=1), "note", "later"),))).result()
    box.seal()
    assert box.ship().parts == 1
    assert_whole(config, box)


def test_parts_keep_names_after_a_merge(boxes: Boxes, config: LakeConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "MIN_FILES", 2)
    box = boxes("one")
    box.add_runs("a", 2)
    box.ship()
    box.add_runs("b", 2)
    while box.store.merge():
        pass
    box.store.publish()
    parts = {part.run_id: part for part in sealed_parts(box.store.query)}
    assert all(part.first_row is not None for part in parts.values())
    assert box.ship().parts == 2 * 4, "the first two runs' parts are there"
    assert_whole(config, box)
