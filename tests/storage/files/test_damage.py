"""A store that is damaged in part: the rest is read, what is lost is named, and there is a way out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.main import main
from domain import Config, Run
from samples import Batch, Event
from settings import Settings
from storage.files import damage
from storage.files.damage import DamagedStoreError
from storage.files.lost_files import FileRecord, check_content
from storage.repair import repair_store
from storage.store import Store

pytestmark = pytest.mark.wide

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[3]
RUNS = ("r1", "r2")


def ended(run_id: str) -> Run:
    return Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW)


@pytest.fixture
def sealed(tmp_path: Path) -> Settings:
    """A store, closed, whose two runs have 20 events each, in a sealed file of their own."""
    settings = Settings(data_dir=tmp_path / "data")
    store = Store.open(settings, lambda: NOW + timedelta(hours=1))
    for run_id in RUNS:
        store.save_run(ended(run_id))
        store.write(Batch(tuple(Event(run_id, NOW, "state", str(i)) for i in range(20)))).result()
    assert store.seal() == 2
    store.close()
    return settings


def file_of(settings: Settings, run_id: str) -> Path:
    return settings.parquet_dir / f"events/run_id={run_id}/1.parquet"


def counts(store: Store) -> dict[str, int]:
    rows = store.query("SELECT run_id, count(*) AS n FROM events GROUP BY run_id").to_pylist()
    return {row["run_id"]: row["n"] for row in rows}


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: path.unlink(), "the file is missing"),
    "cut": (lambda path: os.truncate(path, path.stat().st_size // 2), "not a complete Parquet file"),
    "garbage": (lambda path: path.write_bytes(os.urandom(500)), "not a complete Parquet file"),
    "empty": (lambda path: path.write_bytes(b""), "its 0 bytes are not a complete Parquet file"),
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_lost_file_costs_own_rows_and_is_named(sealed: Settings, damage: str) -> None:
    spoil, words = DAMAGE[damage]
    spoil(file_of(sealed, "r1"))
    store = Store.open(sealed)
    try:
        assert counts(store) == {"r2": 20}
        (lost_file,) = list(store.health().lost_files)
        assert (lost_file.run_id, lost_file.table_name, lost_file.rows) == (
            "r1",
            "events",
            20,
        ) and words in lost_file.reason
        store.write(Batch((Event("r1", NOW, "state", "later"),))).result()
        assert counts(store) == {"r1": 1, "r2": 20}, "it is written on"
    finally:
        store.close()


def test_file_lost_at_runtime_is_left_out(sealed: Settings) -> None:
    store = Store.open(sealed)
    try:
        assert counts(store) == {"r1": 20, "r2": 20}
        file_of(sealed, "r2").unlink()
        assert counts(store) == {"r1": 20}
        assert [lost_file.run_id for lost_file in list(store.health().lost_files)] == ["r2"]
        store.publish()
    finally:
        store.close()


def test_a_file_that_comes_back_is_read_again(sealed: Settings, tmp_path: Path) -> None:
    away = file_of(sealed, "r1").rename(tmp_path / "away")
    Store.open(sealed).close()
    away.rename(file_of(sealed, "r1"))
    store = Store.open(sealed)
    assert (counts(store), list(store.health().lost_files)) == ({"r1": 20, "r2": 20}, [])
    store.close()


@pytest.mark.publishes
def test_check_and_backup_continue_without_file(
    sealed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PITWALL_DATA", str(sealed.data_dir))
    file_of(sealed, "r1").unlink()
    Store.open(sealed).close()
    assert main(["check"]) == 0
    assert "Run r1: 20 rows of events are left out." in capsys.readouterr().out
    assert main(["backup", str(tmp_path / "b.zip")]) == 0
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path / "again"))
    assert main(["restore", str(tmp_path / "b.zip")]) == 0


def test_deep_look_finds_damage_within_a_file(sealed: Settings) -> None:
    path = file_of(sealed, "r1")
    content = bytearray(path.read_bytes())
    content[4:60] = os.urandom(56)
    path.write_bytes(content)
    Store.open(sealed).close()
    actual_repair_store = repair_store(sealed, NOW)
    assert [lost_file.run_id for lost_file in actual_repair_store.lost_files] == [
        "r1"
    ] and actual_repair_store.set_aside is None


@pytest.mark.parametrize("at", [40, 200])
def test_broken_file_is_left_out_after_a_query(sealed: Settings, at: int) -> None:
    path = file_of(sealed, "r1")
    content = bytearray(path.read_bytes())
    content[at : at + 60] = bytes(255 - one for one in content[at : at + 60])
    path.write_bytes(content)
    store = Store.open(sealed)
    try:
        assert store.query("FROM events ORDER BY ALL").num_rows == 20, "those of the other run"
        assert [lost_file.run_id for lost_file in store.health().lost_files] == ["r1"]
        store.write(Batch((Event("r1", NOW, "state", "later"),))).result()
        assert counts(store) == {"r1": 1, "r2": 20}
    finally:
        store.close()


def test_two_queries_on_a_broken_file_both_answer(sealed: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(sealed, "r1")
    content = bytearray(path.read_bytes())
    content[40:100] = bytes(255 - one for one in content[40:100])
    path.write_bytes(content)
    store = Store.open(sealed)
    sealer, have_met, look_after = store._sealer, threading.Barrier(2), store._sealer.handle_read_failure

    def together(failure: duckdb.Error) -> None:
        have_met.wait(60)
        look_after(failure)

    def slowly(file: FileRecord) -> str | None:
        time.sleep(0.3)
        return check_content(file)

    monkeypatch.setattr(sealer, "handle_read_failure", together)
    monkeypatch.setattr("storage.files.seal.check_content", slowly)
    try:
        with ThreadPoolExecutor() as pool:
            asked = [pool.submit(store.query, "FROM events ORDER BY ALL") for _ in range(2)]
            assert [one.result(60).num_rows for one in asked] == [20, 20], "those of the other run"
    finally:
        store.close()


def silently_changed(path: Path) -> bytes:
    """The file with one bit changed so that it is read without an error and says something else."""
    content, rows = path.read_bytes(), pq.read_table(path)
    for at in range(4, len(content)):
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        try:
            read = pq.ParquetFile(pa.BufferReader(changed)).read()
            if read.num_rows == rows.num_rows and read.schema == rows.schema and not read.equals(rows):
                return changed
        except (OSError, pa.ArrowException, ValueError):
            continue
    raise AssertionError("every change shows itself")


def test_wrong_content_is_found_by_checksum(sealed: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(sealed)
    try:
        assert not store._sealer.compare_checksums()
        path = file_of(sealed, "r1")
        path.write_bytes(silently_changed(path))
        assert counts(store)["r2"] == 20 and not store.health().lost_files, "nobody sees it"
        assert not store._sealer.compare_checksums(), "once a day"
        monkeypatch.setattr("storage.files.checksums.ROUND_S", 0.0)
        monkeypatch.setattr("storage.files.checksums.BYTES_A_TURN", 1)
        store._sealer._checksums._next_round_s = 0.0
        assert [store._sealer.compare_checksums() for _ in range(3)] == [True, False, False], "one file at a time"
        (lost_file,) = store.health().lost_files
        assert lost_file.run_id == "r1" and lost_file.reason.startswith("the file is damaged: ")
        assert counts(store) == {"r2": 20}
    finally:
        store.close()


def test_copy_lost_during_fallback_is_no_copy(sealed: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def count_rows(path: Path) -> int:
        path.unlink(missing_ok=True)
        return 7

    monkeypatch.setattr(damage, "count_published", count_rows)
    assert damage.repair_advice(sealed) == damage.NO_COPY


def test_invalid_query_reads_no_files(sealed: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(sealed)
    monkeypatch.setattr("storage.files.seal.record_lost_files", None)
    try:
        with pytest.raises(duckdb.BinderException):
            store.query("SELECT nothing FROM events")
    finally:
        store.close()


@pytest.fixture(scope="module")
def left_by_a_kill(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose owner died: 12 commits of 100 events in its write-ahead log, all of them published."""
    folder = tmp_path_factory.mktemp("killed") / "data"
    code = (
        "import os, sys\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from samples import Batch, Event\nfrom settings import Settings\nfrom storage.store import Store\n"
        "store = Store.open(Settings(data_dir=Path(sys.argv[1])))\n"
        "for i in range(12):\n"
        "    rows = tuple(Event('r1', datetime.now(UTC), 'state', os.urandom(90).hex()) for _ in range(100))\n"
        "    store.write(Batch(rows)).result()\n"
        "store.publish()\nos._exit(9)\n"
    )
    process = subprocess.run([sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 9, process.stderr
    return folder


@pytest.fixture
def killed(left_by_a_kill: Path, tmp_path: Path) -> Settings:
    """That store, for a test to damage."""
    return Settings(data_dir=Path(shutil.copytree(left_by_a_kill, tmp_path / "data")))


def overwrite(path: Path, begin: float, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * begin))
        file.write(os.urandom(length))


STORE_DAMAGE: dict[str, Callable[[Path, Path], object]] = {
    "store cut": lambda store, wal: os.truncate(store, store.stat().st_size // 2),
    "store garbage": lambda store, wal: store.write_bytes(os.urandom(store.stat().st_size)),
    "store empty": lambda store, wal: os.truncate(store, 100),
    "log damaged": lambda store, wal: overwrite(wal, 0.5, 4096),
    "log garbage": lambda store, wal: wal.write_bytes(os.urandom(wal.stat().st_size)),
    "log cut": lambda store, wal: os.truncate(wal, wal.stat().st_size // 2),
    "log gone": lambda store, wal: wal.unlink(),
}


@pytest.mark.parametrize("damage", list(STORE_DAMAGE))
def test_repair_recovers_all_published_rows(
    damage: str, killed: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    STORE_DAMAGE[damage](killed.store_path, killed.store_path.with_name("store.duckdb.wal"))
    with pytest.raises(DamagedStoreError, match=r"is damaged: .* `\./pitwall check --repair` sets it aside") as refused:
        Store.open(killed)
    assert "\n" not in str(refused.value)
    monkeypatch.setenv("PITWALL_DATA", str(killed.data_dir))
    assert main(["check", "--repair"]) == 0
    out = capsys.readouterr().out
    assert "The store was rebuilt from the published copy: 1,2" in out
    assert list((killed.data_dir / "set-aside").rglob("store.duckdb")), "nothing is deleted"
    store = Store.open(killed)
    assert counts(store) == {"r1": 1200}
    store.write(Batch((Event("r1", NOW, "state", "later"),))).result()
    store.close()
    assert main(["check", "--repair"]) == 0
    assert "Nothing is damaged." in capsys.readouterr().out


@pytest.mark.publishes
def test_damaged_block_is_reported_before_a_write(tmp_path: Path) -> None:
    """DuckDB opens such a file, and counts its rows, as if nothing were wrong."""
    settings = Settings(data_dir=tmp_path / "data")
    store = Store.open(settings)
    for _ in range(40):
        rows = (Event("r1", NOW, "state", os.urandom(200).hex()) for _ in range(300))
        store.write(Batch(tuple(rows))).result()
    store.close()
    overwrite(settings.store_path, 0.5, 4096)
    before = settings.published_path.stat().st_mtime_ns
    with pytest.raises(DamagedStoreError, match="check --repair"):
        Store.open(settings)
    assert settings.published_path.stat().st_mtime_ns == before


def test_without_a_copy_a_backup_is_named(killed: Settings) -> None:
    killed.store_path.write_bytes(b"no store")
    killed.published_path.unlink()
    with pytest.raises(DamagedStoreError, match="There is no published copy: restore a backup"):
        Store.open(killed)


def test_newer_store_is_not_repaired_away(
    sealed: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(sealed.store_path)) as newer:
        newer.execute("INSERT INTO raw.migrations VALUES (9999, 'later.sql', now())")
    before = sealed.store_path.read_bytes()
    monkeypatch.setenv("PITWALL_DATA", str(sealed.data_dir))
    assert main(["check", "--repair"]) == 1
    assert "newer Pitwall" in capsys.readouterr().err
    assert sealed.store_path.read_bytes() == before and not (sealed.data_dir / "set-aside").exists()
