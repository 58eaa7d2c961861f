"""A deletion that is killed: before its commit all is there, after it the rest goes at the next look."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from settings import Settings
from storage.store import Store
from tests.storage.files.test_deleted_runs import DAY, Clock, audited, rows_of, seed
from tests.storage.files.test_deleted_runs import clock as clock
from tests.storage.files.test_deleted_runs import store as store

CHILD = """
import os, signal, sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
import storage.files.deletions as deleted
from settings import Settings
from storage.store import Store

def die(*_args, **_options):
    os.kill(os.getpid(), signal.SIGKILL)

now = datetime(2026, 11, 22, 12, tzinfo=UTC)
store = Store.open(Settings(data_dir=Path(sys.argv[1])), lambda: now)
where, name = {"before": (deleted, "name_sealed_files"), "after": (deleted, "remove_tree")}[sys.argv[2]]
setattr(where, name, die)
store.purge()
"""


def killed_at(settings: Settings, moment: str) -> None:
    argv = [sys.executable, "-c", CHILD, str(settings.data_dir), moment]
    assert subprocess.run(argv, timeout=120).returncode == -signal.SIGKILL


@pytest.fixture
def deleted(settings: Settings, clock: Clock) -> Callable[[], Store]:
    """A folder with a run that was deleted a day ago and one that was not, and how its store is opened again."""
    store = Store.open(settings, clock)
    for run_id in ("r1", "r2"):
        seed(store, settings, run_id)
    store.seal()
    store.bin.delete(["r1"], "operator")
    store.close()
    clock.now += 2 * DAY
    return lambda: Store.open(settings, clock)


def test_kill_before_commit_keeps_everything(deleted: Callable[[], Store], settings: Settings) -> None:
    killed_at(settings, "before")
    store = deleted()
    assert store.bin.restore(["r1"], "operator") == 1
    assert rows_of(store, "r1") == rows_of(store, "r2") and (settings.runs_dir / "r1").exists()
    store.close()


def test_kill_after_commit_finishes_next_time(deleted: Callable[[], Store], settings: Settings) -> None:
    killed_at(settings, "after")
    store = deleted()
    assert store.bin.restorable() == [] and store.bin.restore(["r1"], "operator") == 0, "it is too late"
    assert rows_of(store, "r1") == {} and store.bin.holds("r1")
    assert store.purge() == 1
    assert not (settings.runs_dir / "r1").exists() and not store.bin.holds("r1")
    assert audited(store) == [("delete", "r1"), ("gone for good", "r1")]
    store.close()
