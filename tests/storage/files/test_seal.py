"""Sealing beside publishing and reading: no row is missing or doubled, from another process and folder too."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from samples import Batch, GpuSample
from settings import Settings
from storage.database import Database
from storage.store import Store
from tests.demo_engine import wait_until
from tests.storage.files.test_publish_and_seal import NOW, events, make_run, published

pytestmark = pytest.mark.publishes
CHECKER = """
import sys, time
import duckdb
path, seconds = sys.argv[1], float(sys.argv[2])
end, opens, last = time.monotonic() + seconds, 0, 0
while time.monotonic() < end or opens <= 10 or last <= 300:
    with duckdb.connect(path, read_only=True) as reader:
        count, distinct, highest = reader.execute(
            "SELECT count(*), count(DISTINCT text), coalesce(max(text::BIGINT) + 1, 0) FROM events").fetchone()
    assert count == distinct == highest, (count, distinct, highest)
    assert count >= last, (count, last)
    opens, last = opens + 1, count
print(opens, last)
"""


def test_rows_of_ended_run_are_sealed_alike(settings: Settings) -> None:
    clock = [NOW]
    store = Store.open(settings, clock=lambda: clock[0])
    store.save_run(make_run("ended", NOW))
    store.save_run(make_run("live", None))
    store.write(events("ended", 0, 5)).result()
    store.write(events("live", 0, 2)).result()
    assert store.seal() == 0, "late lines may still come"
    clock[0] = NOW + timedelta(seconds=61)
    assert store.seal() == 1
    assert store.query("SELECT count(*) AS n FROM raw.events")["n"].to_pylist() == [2]
    assert store.query("SELECT count(*) AS n FROM events")["n"].to_pylist() == [7]
    store.write(events("ended", 5, 1)).result()  # a late one makes a second file
    assert store.seal() == 1
    assert sorted(p.name for p in settings.parquet_dir.rglob("*.parquet")) == ["1.parquet", "2.parquet"]
    store.publish()
    assert published(settings, "SELECT count(*), count(DISTINCT text) FROM events WHERE run_id = 'ended'") == [(6, 6)]
    assert published(settings, "SELECT comment FROM duckdb_views() WHERE view_name = 'events'") != [(None,)]
    store.close()


def test_many_old_rows_without_run_are_sealed(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    ages = (60, 30, 5, 1)  # minutes
    gpu = [GpuSample(None, NOW + timedelta(minutes=60 - age), 1.0, "m", 0) for age in ages]
    store.write(Batch(tuple(gpu))).result()
    monkeypatch.setattr("storage.files.seal.LIVE_ROWS", 3)
    assert store.seal() == 0, "only two are old"
    monkeypatch.setattr("storage.files.seal.LIVE_ROWS", 2)
    assert store.seal() == 1
    assert (
        store.query("SELECT run_id, gpu_index FROM gpu_samples").to_pylist() == [{"run_id": None, "gpu_index": 0}] * 4
    )
    assert store.query("SELECT count(*) AS n FROM raw.gpu_samples")["n"].to_pylist() == [2]
    store.close()


def test_old_orphans_go_and_recorded_files_stay(settings: Settings) -> None:
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    store.save_run(make_run("r1", NOW))
    store.write(events("r1", 0, 5)).result()
    store.seal()
    store.close()
    folder = settings.parquet_dir / "events" / "run_id=r1"
    old, young = folder / "7.parquet", folder / "8.draft"
    for path in (old, young):
        path.write_bytes(b"killed half-way")
    for path in (old, folder / "1.parquet"):
        subprocess.run(["touch", "-d", "2 hours ago", str(path)], check=True)
    store = Store.open(settings)
    wait_until(lambda: not old.exists())
    assert sorted(p.name for p in folder.iterdir()) == ["1.parquet", "8.draft"]
    assert store.query("FROM events").num_rows == 5
    store.close()


def test_sealing_amid_publishing_keeps_rows_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    store.save_run(make_run("r1", NOW))
    store.write(events("r1", 0, 5)).result()
    made = []
    copy = shutil.copyfile

    def seal_and_copy(source: Path, target: Path) -> None:
        made.append(store.seal())
        copy(source, target)

    monkeypatch.setattr("storage.files.publish.shutil.copyfile", seal_and_copy)
    store.publish()
    assert made == [1, 0]
    assert published(settings, "SELECT count(*), count(DISTINCT text) FROM events") == [(5, 5)]
    store.close()


class Interrupted:
    """A database whose cursor has something else happen before one statement, once."""

    def __init__(self, database: Database, before: str, happens: Callable[[], object]) -> None:
        self._database, self._before, self._happens = database, before, happens

    @contextmanager
    def cursor(self) -> Iterator[Interrupted]:
        with self._database.cursor() as self._cursor:
            yield self

    def execute(self, sql: str, *params: object) -> duckdb.DuckDBPyConnection:
        if sql.startswith(self._before):
            self._before = "done"
            self._happens()
        return self._cursor.execute(sql, *params)

    def __getattr__(self, name: str) -> object:
        return getattr(self._cursor, name)


@pytest.mark.parametrize(
    "before", ["ATTACH", "COPY", "INSERT INTO template.raw.migrations", "INSERT INTO template.raw.sealed"]
)
def test_sealing_during_view_copy_keeps_rows(settings: Settings, before: str) -> None:
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    for number in range(2):
        store.save_run(make_run(f"r{number}", NOW))
        store.write(events(f"r{number}", 10 * number, 5)).result()
        if number == 0:
            store.seal()
    sealed: list[int] = []
    store._publisher._database = Interrupted(store._database, before, lambda: sealed.append(store.seal()))  # type: ignore[assignment]
    (settings.data_dir / ".monitor.template").unlink(missing_ok=True)
    store.publish()
    assert sealed == [1]
    assert published(settings, "SELECT count(*), count(DISTINCT text) FROM events") == [(10, 10)]
    store.close()


@pytest.mark.wide
def test_several_that_seal_at_once_seal_once(settings: Settings) -> None:
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    together, made = threading.Barrier(4), list[int]()

    def seal() -> None:
        together.wait()
        made.append(store.seal())

    for number in range(5):
        store.save_run(make_run(f"r{number}", NOW))
        store.write(events(f"r{number}", 100 * number, 100)).result()
        threads = [threading.Thread(target=seal) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(made) == [0] * 15 + [1] * 5
    assert store.query("SELECT count(*) AS n, count(DISTINCT text) AS d FROM events").to_pylist() == [
        {"n": 500, "d": 500}
    ]
    store.close()


@pytest.mark.parametrize("seconds", [4, pytest.param(600, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_remote_reader_sees_no_gap_or_duplicate(settings: Settings, tmp_path: Path, seconds: int) -> None:
    """Writing, publishing and sealing all the while; the reader checks that the rows are 0..n-1, once each."""
    clock = [NOW]
    store = Store.open(settings, clock=lambda: clock[0])
    argv = [sys.executable, "-c", CHECKER, str(settings.published_path), str(seconds)]
    reader = subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    number = 0
    while reader.poll() is None:
        run_id = f"r{number // 200}"
        clock[0] += timedelta(seconds=120)
        store.save_run(make_run(run_id, clock[0] - timedelta(seconds=90)))
        store.write(events(run_id, number, 100)).result()
        number += 100
        if number % 300 == 0:
            store.seal()
        store.publish()
    output, errors = reader.communicate()
    assert reader.returncode == 0, errors
    opens, seen = map(int, output.split())
    assert opens > 10 and seen > 300
    assert seen <= number
    assert list(settings.parquet_dir.rglob("*.parquet"))
    store.close()
