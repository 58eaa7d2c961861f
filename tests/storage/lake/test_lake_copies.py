"""Local copies from a lake: the newest versions of records, and samples of runs; the lake itself is a stand-in here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from samples import Event
from settings import Settings
from storage.lake.copies import LakeRecords, RunCopies
from storage.rows import tables_of
from storage.store import Store
from tests.wide import wide_params

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


class Versions:
    """A STAND-IN for the lake: rows of versions in the order of their shipping."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Mapping[str, Any]]] = {"runs": [], "machines": []}
        self.asked: list[tuple[str, int]] = []

    def ship(self, table: str, version: int, is_deleted: bool = False, **row: Any) -> None:
        signed = {"shipped_version": version, "is_deleted": is_deleted, "owner": "folder"}
        self.rows[table].append(signed | row)

    def row_counts(self) -> dict[str, int]:
        return {table: len(rows) for table, rows in self.rows.items()}

    def versions_since(self, table: str, first_row: int) -> pa.Table:
        self.asked.append((table, first_row))
        return pa.Table.from_pylist(self.rows[table][first_row:])


@pytest.fixture
def definitions(tmp_path: Path) -> Iterator[pa.Table]:
    store = Store.open(Settings(data_dir=tmp_path))
    yield store.query("FROM raw.metric_definitions")
    store.close()


def ids_and_names(records: LakeRecords | RunCopies) -> list[tuple[str, str]]:
    rows = records.query("SELECT id, name FROM raw.runs ORDER BY 1").to_pylist()
    return [(row["id"], row["name"]) for row in rows]


def test_only_new_rows_of_newest_version_are_read(definitions: pa.Table) -> None:
    lake, records = Versions(), LakeRecords(definitions)
    for version, name in enumerate(("first", "second"), 1):
        lake.ship("runs", version, id="a", name=name)
    lake.ship("runs", 1, id="b", name="b")
    records.renew(lake)  # type: ignore[arg-type]
    assert ids_and_names(records) == [("a", "second"), ("b", "b")]
    changes = records.changes
    records.renew(lake)  # type: ignore[arg-type]
    assert (lake.asked, records.changes) == ([("runs", 0)], changes)
    lake.ship("runs", 2, is_deleted=True, id="b", name=None)
    lake.ship("runs", 3, id="a", name="third")
    records.renew(lake)  # type: ignore[arg-type]
    assert ids_and_names(records) == [("a", "third")] and lake.asked[-1] == ("runs", 3)
    lake.ship("runs", 3, id="b", name="back")
    records.renew(lake)  # type: ignore[arg-type]
    assert ids_and_names(records) == [("a", "third"), ("b", "back")]


def test_late_machine_facts_replace_attached_ones(definitions: pa.Table) -> None:
    lake, records = Versions(), LakeRecords(definitions)
    lake.ship("runs", 1, id="a", name="a", machine_id="remote-BOX")
    records.renew(lake)  # type: ignore[arg-type]
    lake.ship("machines", 1, id="m1", host_name="box", seen_at=NOW)
    records.renew(lake)  # type: ignore[arg-type]
    assert records.query("SELECT machine_id FROM runs").to_pylist() == [{"machine_id": "m1"}]


GPUS = '[{"index": 0}]'


@pytest.mark.parametrize("is_told_late", [True, *wide_params(False)], ids=["others-later", "itself-later"])
def test_machine_facts_win_and_nulls_hide_nothing(definitions: pa.Table, is_told_late: bool) -> None:
    lake, records, copies = Versions(), LakeRecords(definitions), RunCopies(definitions)
    itself = {"reported_by": "m1", "owner": "its", "url": "https://m1.example", "gpus": GPUS, "cpu": None}
    other_fields = {
        "reported_by": "m2",
        "owner": "other",
        "url": None,
        "gpus": "[]",
        "gpus_reason": "no driver",
        "cpu": "a CPU",
    }
    for version, told in enumerate((itself, other_fields) if is_told_late else (other_fields, itself), 1):
        lake.ship("machines", version, id="m1", host_name=told["owner"], seen_at=NOW, **told)
    records.renew(lake)  # type: ignore[arg-type]
    lake_records = LakeRecords(definitions)  # the store here launched there, and noted what it found
    lake.rows["machines"] = [lake.rows["machines"][is_told_late]]
    lake_records.renew(lake)  # type: ignore[arg-type]
    copies.set_records([lake_records.query, records.query])
    expected = {"host_name": "its", "url": "https://m1.example", "cpu": "a CPU", "gpus": GPUS, "gpus_reason": None}
    for where in (records, copies):
        assert where.query(f"SELECT {', '.join(expected)} FROM raw.machines").to_pylist() == [expected]


@pytest.mark.wide
def test_own_record_beats_the_shared_copy(definitions: pa.Table) -> None:
    own, lake = Versions(), Versions()
    for versions, rows in ((own, ["a"]), (lake, ["a", "b"])):
        for run_id in rows:
            versions.ship("runs", 1, id=run_id, name="own" if versions is own else "theirs")
    stores = [LakeRecords(definitions), LakeRecords(definitions)]
    for records, versions in zip(stores, (own, lake), strict=True):
        records.renew(versions)  # type: ignore[arg-type]
    copies = RunCopies(definitions)
    for _ in range(2):
        copies.set_records([records.query for records in stores])
        assert ids_and_names(copies) == [("a", "own"), ("b", "theirs")]


def events(copies: RunCopies) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = copies.query("SELECT run_id, text FROM raw.events ORDER BY ALL").to_pylist()
    return rows


def rows_of(*told: tuple[str, str]) -> Sequence[tuple[str, pa.Table]]:
    return list(tables_of([Event(run_id, NOW, "note", text) for run_id, text in told]).items())


def test_run_samples_are_replaced_all_or_none(definitions: pa.Table) -> None:
    copies = RunCopies(definitions)
    copies.set_samples(["a", "b"], rows_of(("a", "one"), ("b", "one")))
    copies.set_samples(["a"], rows_of(("a", "one"), ("a", "two")))
    assert events(copies) == [{"run_id": run, "text": text} for run, text in (("a", "one"), ("a", "two"), ("b", "one"))]

    def broken() -> Iterator[tuple[str, pa.Table]]:
        yield from rows_of(("b", "half"))
        raise OSError

    with pytest.raises(OSError):
        copies.set_samples(["b"], broken())
    assert {"run_id": "b", "text": "one"} in events(copies) and len(events(copies)) == 3
