"""Small sealed files of ended runs become few large ones; what is read stays the same, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from domain import Config, Run
from load_records import Load
from samples import Batch, CounterSample, Event
from settings import Settings
from storage.catalog import name_sealed_files
from storage.store import Store
from storage.transfer.backup import restore_backup, write_backup

pytestmark = pytest.mark.wide

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[3]
RUNS, EVENTS = 6, 30
SUMS = (
    "SELECT run_id, count(*) AS n, string_agg(text, ' ' ORDER BY text::INT) AS texts FROM {} GROUP BY run_id ORDER BY 1"
)


@pytest.fixture(autouse=True)
def few_files_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.files.merge.MIN_FILES", 3)


def run_of(number: int, ended_at: datetime | None = NOW) -> Run:
    name = f"r{number}"
    state = {"state": "finished"} if ended_at else {"state": "ready"}
    fields = {"id": name, "name": name, "color": 0, "config": Config(), "machine_id": "m", "created_at": NOW}
    return Run.model_validate(fields | {"ended_at": ended_at} | state)


def events_of(number: int, first: int = 0) -> list[Event]:
    return [Event(f"r{number}", NOW + timedelta(seconds=i), "state", str(i)) for i in range(first, first + EVENTS)]


def give(store: Store, number: int, first: int = 0) -> None:
    """So many events of a run, sealed as a part of its own."""
    store.write(Batch(tuple(events_of(number, first)))).result()
    assert store.seal() == 1


@pytest.fixture
def opened(settings: Settings) -> Iterator[Store]:
    """Six ended runs, each in a sealed file of its own."""
    store = Store.open(settings, lambda: NOW + timedelta(hours=1))
    store.queue_runs([run_of(number) for number in range(RUNS)])
    store.write(Batch(tuple(event for number in range(RUNS) for event in events_of(number)))).result()
    assert store.seal() == RUNS
    yield store
    store.close()


def files(settings: Settings) -> list[str]:
    return sorted(str(path.relative_to(settings.parquet_dir)) for path in settings.parquet_dir.rglob("*.parquet"))


def rows(store: Store, source: str = "events") -> list[dict[str, object]]:
    return store.query(SUMS.format(source)).to_pylist()


def test_merged_files_read_the_same(opened: Store, settings: Settings) -> None:
    before = rows(opened)
    assert opened.merge() == 1 and opened.merge() == 0, "one file is merged with nothing"
    assert rows(opened) == before
    assert rows(opened, "events_of(['r1', 'r4'])") == [before[1], before[4]]
    assert rows(opened, "events_of(['r9'])") == []
    opened.publish()
    with duckdb.connect(str(settings.published_path), read_only=True) as reader:
        assert [row[:2] for row in reader.execute(SUMS.format("events")).fetchall()] == [
            (f"r{number}", EVENTS) for number in range(RUNS)
        ]


def test_parts_keep_name_rows_and_checksum(opened: Store, settings: Settings) -> None:
    sql = "SELECT path, run_id, row_count, sha256 FROM raw.sealed_files ORDER BY path"
    before = opened.query(sql).to_pylist()
    opened.merge()
    assert opened.query(sql).to_pylist() == before and all(row["sha256"] for row in before)
    places = opened.query(
        "SELECT DISTINCT merged_path AS file, merged_row FROM raw.sealed_files ORDER BY 2"
    ).to_pylist()
    assert [place["merged_row"] for place in places] == [EVENTS * number for number in range(RUNS)]
    assert {place["file"] for place in places} == {next(name for name in files(settings) if "/merged/" in name)}


def test_merged_file_merges_with_later_files(opened: Store, settings: Settings) -> None:
    opened.merge()
    give(opened, 1, first=EVENTS)
    for number in (RUNS, RUNS + 1):
        opened.save_run(run_of(number))
        give(opened, number)
    before = rows(opened)
    assert opened.merge() == 1
    assert rows(opened) == before and before[1]["n"] == 2 * EVENTS
    parts = "SELECT count(DISTINCT merged_path) AS files, count(DISTINCT merged_row) AS places FROM raw.sealed_files"
    assert opened.query(parts).to_pylist() == [{"files": 1, "places": RUNS + 3}]
    assert opened.look_for_lost_files(deeply=True) == []


def test_live_run_and_its_files_are_not_merged(opened: Store, settings: Settings) -> None:
    opened.save_run(run_of(3, ended_at=None))
    opened._sealer.merge_due(beside_runs=False)
    assert not any("/merged/" in name for name in files(settings)), "a measurement may be going on"
    assert opened.merge() == 1
    rows = opened.query("SELECT run_id FROM raw.sealed_files WHERE merged_path IS NULL").to_pylist()
    assert rows == [{"run_id": "r3"}]


def test_old_files_stay_an_hour_for_readers(opened: Store, settings: Settings) -> None:
    opened.publish()
    with duckdb.connect(str(settings.published_path), read_only=True) as reader:
        opened.merge()
        opened._sealer.remove_orphans()
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (RUNS * EVENTS,)
    for name in files(settings):
        subprocess.run(["touch", "-d", "2 hours ago", str(settings.parquet_dir / name)], check=True)
    assert opened._sealer.remove_orphans() == RUNS
    assert len(files(settings)) == 1 and rows(opened)[0]["n"] == EVENTS
    assert [path.name for path in settings.parquet_dir.glob("*/*")] == ["merged"], "no folder is left empty"
    opened.write(Batch((Event("r0", NOW, "note", "later"),))).result()
    assert opened.seal() == 1, "and one that has gone is made again"


def test_few_files_are_merged_where_they_fill_one(
    opened: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.files.merge.MIN_FILES", 64)
    assert opened.merge() == 0
    size_bytes = max((settings.parquet_dir / name).stat().st_size for name in files(settings))
    monkeypatch.setattr("storage.files.merge.SMALL_BYTES", 2 * size_bytes)
    monkeypatch.setattr("storage.files.merge.MAX_BYTES", int(4.5 * size_bytes))
    assert opened.merge() == 1
    moved = opened.query("SELECT run_id FROM raw.sealed_files WHERE merged_path IS NOT NULL ORDER BY 1")
    assert moved["run_id"].to_pylist() == ["r0", "r1", "r2", "r3"]


def test_rows_of_different_columns_stay_apart(settings: Settings) -> None:
    store = Store.open(settings, lambda: NOW + timedelta(hours=1))
    for number in range(4):
        store.save_run(run_of(number))
        store.write(
            Batch((CounterSample(f"r{number}", NOW, 1.0, "d", accepted_per_pos_total=[1.0, float(number)]),))
        ).result()
        store.write(Batch((Load(f"r{number}", "l", NOW, "us", "five-prompts", params={"n": number}),))).result()
    store.seal()
    before = {table: store.query(f"FROM {table} ORDER BY run_id") for table in ("counter_samples", "loads")}
    assert store.merge() == 2
    for table, was in before.items():
        assert store.query(f"FROM {table} ORDER BY run_id").equals(was), "values and types alike"
    store.close()


def spoil(path: Path, at: int = 4) -> None:
    """Overwrite pages, by default the first of the first row group: the file's head, foot and length stay."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(60))


def of_row_group(path: Path, number: int) -> int:
    """Where the pages of a row group begin that hold its first column."""
    column = pq.ParquetFile(path).metadata.row_group(number).column(0)
    return int(column.dictionary_page_offset or column.data_page_offset)


def merged_noise(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Four runs in one merged file, a row group each, of what no compression makes small."""
    monkeypatch.setattr("storage.files.merge.ROW_GROUP_ROWS", 2_048)  # DuckDB's least
    store = Store.open(settings, lambda: NOW + timedelta(hours=1))
    for number in range(4):
        store.save_run(run_of(number))
        noise = (Event(f"r{number}", NOW, "state", os.urandom(8).hex()) for _ in range(2_048))
        store.write(Batch(tuple(noise))).result()
    store.seal()
    store.merge()
    return store


def merged_file(settings: Settings) -> Path:
    return next(settings.parquet_dir / name for name in files(settings) if "/merged/" in name)


def test_corrupt_file_costs_its_unreadable_runs(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    store = merged_noise(settings, monkeypatch)
    spoil(merged_file(settings))
    assert {one.run_id for one in store.look_for_lost_files(deeply=True)} == {"r0"}
    rows = store.query("SELECT DISTINCT run_id FROM events ORDER BY 1").to_pylist()
    assert rows == [{"run_id": f"r{number}"} for number in (1, 2, 3)]
    assert [one.run_id for one in store.look_for_lost_files()] == ["r0"], "a quick look takes nothing back"
    store.close()
    store = Store.open(settings)
    assert [lost_file.run_id for lost_file in store.health().lost_files] == ["r0"]
    store.close()


def test_rows_of_other_runs_are_not_read(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows between are spoilt, so that whoever reads them has them left out: of up to 32 runs nobody does."""
    store = merged_noise(settings, monkeypatch)
    path = merged_file(settings)
    spoil(path, of_row_group(path, 1))
    sql = "SELECT run_id, count(*) AS n FROM events_of($asked) GROUP BY run_id ORDER BY run_id"
    texts = ["r0", "r3"]
    rows = store.query(sql, {"asked": texts}).to_pylist()
    assert rows == [{"run_id": run_id, "n": 2_048} for run_id in texts] and not store.health().lost_files
    again = store.query(sql, {"asked": [*texts, *(f"of-nobody-{n}" for n in range(31))]}).to_pylist()
    assert again == rows and [lost_file.run_id for lost_file in store.health().lost_files] == ["r1"]
    store.close()


def test_unreadable_file_is_left_out_of_the_merge(opened: Store, settings: Settings) -> None:
    spoil(settings.parquet_dir / "events/run_id=r2/1.parquet")
    with pytest.raises(duckdb.Error):
        opened.merge()
    assert [lost_file.run_id for lost_file in opened.health().lost_files] == ["r2"]
    assert opened.merge() == 1
    assert [row["run_id"] for row in rows(opened)] == ["r0", "r1", "r3", "r4", "r5"]


def test_backup_holds_only_the_merged_file(opened: Store, settings: Settings, tmp_path: Path) -> None:
    before = rows(opened)
    opened.merge()
    opened.publish()
    write_backup(settings, tmp_path / "all.zip", NOW)
    elsewhere = Settings(data_dir=tmp_path / "elsewhere")
    restore_backup(elsewhere, tmp_path / "all.zip")
    assert len(files(elsewhere)) == 1
    restored = Store.open(elsewhere)
    assert rows(restored) == before and restored.look_for_lost_files(deeply=True) == []
    restored.close()


KILLED = """
import sys, os, signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
import storage.files.seal as seal, storage.files.merge as merge
from settings import Settings
from storage.store import Store
merge.MIN_FILES = 3
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
setattr(seal, sys.argv[2], die) if sys.argv[2] != "commit" else None
if sys.argv[2] == "commit":
    seal.start_grace_period = die
Store.open(Settings(data_dir=Path(sys.argv[1])), lambda: datetime(2026, 11, 20, 13, tzinfo=UTC)).merge()
"""


@pytest.mark.parametrize("moment", ["record_merged", "name_sealed_files", "commit"])
def test_kill_at_any_moment_loses_nothing(opened: Store, settings: Settings, moment: str) -> None:
    before = rows(opened)
    opened.close()
    argv = [sys.executable, "-c", KILLED, str(settings.data_dir), moment]
    assert subprocess.run(argv, cwd=ROOT).returncode == -signal.SIGKILL
    store = Store.open(settings, lambda: NOW + timedelta(hours=1))
    assert rows(store) == before
    store.merge()
    assert rows(store) == before and store.look_for_lost_files(deeply=True) == []
    store.close()


LOOKS: dict[str, Callable[[Path], object]] = {"gone": lambda path: path.unlink(), "cut": lambda p: os.truncate(p, 100)}


@pytest.mark.parametrize("harm", list(LOOKS))
def test_lost_or_cut_merged_file_names_its_runs(opened: Store, settings: Settings, harm: str) -> None:
    opened.merge()
    LOOKS[harm](merged_file(settings))
    assert rows(opened) == []
    assert {one.run_id for one in opened.look_for_lost_files()} == {f"r{number}" for number in range(RUNS)}


def test_import_and_merge_never_clash_on_files(
    opened: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB refuses the second of two that do; so each is alone with the list of sealed files."""
    alone = []

    def noted(cursor: duckdb.DuckDBPyConnection, parquet_dir: Path) -> None:
        alone.append(opened._sealer._tick_lock.locked())
        name_sealed_files(cursor, parquet_dir)

    monkeypatch.setattr("storage.files.seal.name_sealed_files", noted)
    opened.adopt_runs([run_of(8)], [])
    opened.merge()
    assert alone == [True, True]
