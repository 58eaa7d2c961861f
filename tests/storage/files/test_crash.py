"""Kills and full disks: what was acknowledged is there once, and nothing else is doubled."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from domain import AuditEntry, Config, Run
from samples import Batch, Event, HostSample
from settings import Settings
from storage.database import StoreError
from storage.published_query import published_query
from storage.store import Store

pytestmark = pytest.mark.publishes

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
# DuckDB takes a program without a file for somebody's shell, and draws its progress among what the program prints.
WRITER = """
import __main__, sys, threading, time
__main__.__file__ = "writer"
from datetime import UTC, datetime, timedelta
from pathlib import Path
from domain import Config, Run
from samples import Batch, Event, TailPosition
from settings import Settings
from storage.store import Store

NOW = datetime(2026, 11, 20, tzinfo=UTC)
first = int(sys.argv[2])
store = Store.open(Settings(data_dir=Path(sys.argv[1])))

def bring_about(step):  # sealing and publishing all the while, as often as the machine allows
    while True:
        step()
        time.sleep(0.05)

for step in (store.seal, store.publish):
    threading.Thread(target=bring_about, args=(step,), daemon=True).start()
for number in range(first, first + 100_000):
    run_id = f"r{number // 20:05d}"
    if number % 20 == 0:
        run = Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW)
        store.save_run(run)
    rows = tuple(Event(run_id, NOW + timedelta(seconds=i), "state", f"{number}:{i}") for i in range(5))
    store.write(Batch(rows, (TailPosition("all", "/log", 0, 1, number),))).result()
    print(number, flush=True)
"""


def acknowledged_before_kill(settings: Settings, first: int, seconds: float) -> int:
    """Run the writer, kill -9 it after a while; the last number it was told to be durable, -1 for none."""
    argv = [sys.executable, "-c", WRITER, str(settings.data_dir), str(first)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline()]
        time.sleep(seconds)
        child.kill()
        lines += child.stdout.readlines()
    numbers = [int(line) for line in lines if line.endswith("\n")]
    return max(numbers, default=-1)


def kill_and_check(settings: Settings, kills: int) -> int:
    """Kill the writer several times; the number of batches that stand in the store at the end."""
    stored = 0
    for _ in range(kills):
        acknowledged = acknowledged_before_kill(settings, stored, random.uniform(0.0, 2.0))
        assert acknowledged >= stored, "the writer got somewhere"
        store = Store.open(settings)
        try:
            [row] = store.query(
                "SELECT count(*) AS rows, count(DISTINCT text) AS texts, count(DISTINCT number) AS batches, "
                "max(number) + 1 AS upto FROM (SELECT text, split_part(text, ':', 1)::BIGINT AS number FROM events)"
            ).to_pylist()
            position = store.tail_position("all", "/log")
            with published_query(settings.published_path) as query:
                rows = query("SELECT count(*) AS n FROM events")["n"].to_pylist()
        finally:
            store.close()
        assert row["rows"] == row["texts"] == 5 * row["batches"], f"doubled or torn: {row}"
        assert row["batches"] == row["upto"], f"a hole: {row}"
        assert row["upto"] > acknowledged, f"acknowledged {acknowledged}, found {row}"
        assert rows == [row["rows"]], "what is published is what is stored"
        assert position is not None
        assert position.offset == row["upto"] - 1, "the position travels with its samples"
        stored = row["upto"]
    return stored


def test_kill_9_loses_and_doubles_nothing(settings: Settings) -> None:
    assert kill_and_check(settings, kills=3) > 0
    assert list(settings.parquet_dir.rglob("*.parquet")), "sealing took part"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_kills_lose_and_double_nothing(settings: Settings) -> None:
    kill_and_check(settings, kills=60)


def wait_until(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def fill_but(free_bytes: int, ballast: Path) -> None:
    """Leave so much of its disk; what the store writes beside it meanwhile comes and goes."""
    with ballast.open("wb") as file, suppress(OSError):
        while True:
            file.write(bytes(100_000))
            file.flush()
    os.truncate(ballast, ballast.stat().st_size - free_bytes)


def test_full_disk_loses_and_doubles_nothing(small_disk: Path) -> None:
    store = Store.open(Settings(data_dir=small_disk / "data"))
    noise = [Event("r1", NOW, "state", f"{i}:{os.urandom(500).hex()}") for i in range(60_000)]
    futures = []
    writer = threading.Thread(
        target=lambda: futures.extend(store.write(Batch(tuple(noise[i : i + 50]))) for i in range(0, len(noise), 50))
    )
    ballast = small_disk / "ballast"
    store.write(Batch((Event("r1", NOW, "state", "first"),))).result()
    fill_but(1_000_000, ballast)
    noise = noise[:4_000]  # the disk has room for them twice: in the store and in the published file
    writer.start()
    wait_until(lambda: not store.health().is_storing)
    health = store.health()
    assert "space" in (health.detail or "").lower()
    assert store.query("SELECT text FROM events LIMIT 1").num_rows == 1, "what is stored can be read all the while"
    with pytest.raises(TimeoutError):
        futures[-1].result(timeout=0.2)
    ballast.unlink()
    writer.join()
    for future in futures:
        future.result(timeout=60)
    wait_until(lambda: store.health().ok)
    [row] = store.query("SELECT count(*) AS rows, count(DISTINCT text) AS texts FROM events").to_pylist()
    assert row == {"rows": 4_001, "texts": 4_001}
    store.close()


def test_closing_on_full_disk_lists_unstored_rows(small_disk: Path) -> None:
    store = Store.open(Settings(data_dir=small_disk / "data"))
    fill_but(1_000_000, small_disk / "ballast")
    rows = tuple(Event("r1", NOW, "state", os.urandom(500).hex()) for i in range(12_000))
    future = store.write(Batch(rows))
    wait_until(lambda: not store.health().ok)
    store.close()
    with pytest.raises(Exception, match=r"Not stored before the store was closed: .*space"):
        future.result(timeout=5)


def test_run_outcomes_are_stored_before_bulk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake stands in for a disk that stays full while a whole queue fills."""
    transaction, room = store._database.transaction, threading.Event()

    @contextmanager
    def full(is_sampling: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        if not room.is_set():
            raise duckdb.OperationalError("pretended: no space left")
        with transaction(is_sampling) as cursor:
            yield cursor

    monkeypatch.setattr("storage.writer.RETRY_S", 0.01)
    monkeypatch.setattr("storage.writer.MAX_PENDING_ROWS", 10)
    monkeypatch.setattr(store._database, "transaction", full)
    bulk = Batch(tuple(HostSample("r1", NOW, float(second), "m1") for second in range(10)))
    store.write(bulk)
    waiting = threading.Thread(target=lambda: store.write(bulk), daemon=True)
    waiting.start()

    def stop_a_server() -> None:
        store.write(Batch((Event("r1", NOW, "state", "stopping"),)))
        store.record([AuditEntry(NOW, "operator", "stop", "r1")])
        run = Run(id="r1", name="r1", color=0, config=Config(), machine_id="m1", created_at=NOW)
        with pytest.raises(TimeoutError):
            store.save_run(run, timeout_s=0.1)

    stopping = threading.Thread(target=stop_a_server, daemon=True)
    stopping.start()
    stopping.join(10)
    assert not stopping.is_alive(), "it was held up by samples"
    assert waiting.is_alive()
    room.set()
    waiting.join(10)
    wait_until(lambda: store.health().pending_rows == 0)
    assert store.query("SELECT count(*) AS rows FROM host_samples")["rows"].to_pylist() == [20]
    assert store.query("SELECT text FROM events")["text"].to_pylist() == ["stopping"]
    assert [store.audit(2)[0].action, store.run("r1") is not None] == ["stop", True]


@pytest.mark.parametrize("reaches_the_disk", [True, False])
def test_unclear_commit_is_stored_once(store: Store, monkeypatch: pytest.MonkeyPatch, reaches_the_disk: bool) -> None:
    """A fake stands in for a fatal error in the middle of a commit, which cannot be had on demand."""
    transaction, failures = store._database.transaction, [duckdb.FatalException("pretended: the database was given up")]

    @contextmanager
    def interrupted(is_sampling: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        with transaction(is_sampling) as cursor:
            yield cursor
            if failures and not reaches_the_disk:
                raise failures.pop()
        if failures:
            raise failures.pop()

    monkeypatch.setattr("storage.writer.RETRY_S", 0.01)
    monkeypatch.setattr(store._database, "transaction", interrupted)
    store.write(Batch((Event("r1", NOW, "state", "once"),))).result(timeout=30)
    assert not failures
    assert store.query("SELECT text FROM events")["text"].to_pylist() == ["once"]
    assert store.health().ok


def test_killed_publishing_leftovers_are_dropped(settings: Settings) -> None:
    """A log of the draft, as a kill between writing and renaming leaves it."""
    store = Store.open(settings)
    store.write(Batch((Event("r1", NOW, "state", "mine"),))).result()
    store.close()  # or its own publisher might have the draft open
    draft = settings.data_dir / ".monitor.draft"
    program = (
        "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]); "
        "c.execute('CREATE SCHEMA raw; CREATE TABLE raw.events(a INT)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(draft)], check=True)
    draft.chmod(0o444)
    assert draft.with_name(".monitor.draft.wal").exists()
    store = Store.open(settings)
    store.publish()
    with published_query(settings.published_path) as query:
        assert query("SELECT text FROM events")["text"].to_pylist() == ["mine"]
    assert sorted(p.name for p in settings.data_dir.iterdir() if "draft" in p.name) == []
    store.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_failing_listener_ends_the_writer(store: Store) -> None:
    def fail(_run_ids: frozenset[str]) -> None:
        raise RuntimeError("a bug of ours")

    store.on_commit(fail)
    store.write(Batch((Event("r1", NOW, "state", "kept"),))).result()
    wait_until(lambda: not store.health().ok)
    assert "ended by an internal error" in str(store.health().detail)
    with pytest.raises(StoreError, match="closed"):
        store.write(Batch((Event("r1", NOW, "state", "refused"),)))
