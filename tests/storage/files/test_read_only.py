"""A data folder that cannot be written: told at the start, waited out while the store is open."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain import Config, Run
from samples import Batch, Event
from settings import Settings
from storage.database import StoreError
from storage.store import Store
from tests.e2e.pitwall_process import wait_until

pytestmark = pytest.mark.publishes

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def freeze(folder: Path) -> None:
    """Nobody can change it or a file in it any more, root and files that are open included."""
    subprocess.run(["chattr", "-R", "+i", str(folder)], capture_output=True, check=True)


def thaw(folder: Path) -> None:
    subprocess.run(["chattr", "-R", "-i", str(folder)], capture_output=True, check=True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The data folder, writable again whatever the test did."""
    place = tmp_path / "data"
    place.mkdir()
    try:
        freeze(place)
        thaw(place)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("files cannot be made unchangeable here: that takes root, chattr and a file system that can")
    yield place
    thaw(place)


def event(text: str) -> Batch:
    return Batch((Event("r1", NOW, "state", text),))


def texts(store: Store) -> list[str]:
    return [str(text) for text in store.query("SELECT text FROM events ORDER BY text DESC")["text"].to_pylist()]


def test_read_only_folder_is_read_then_rewritten(folder: Path) -> None:
    store = Store.open(Settings(data_dir=folder))
    run = Run(id="r1", name="r", color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW)
    store.save_run(run)
    store.write(event("one before")).result()
    freeze(folder)
    waiting = store.write(event("meanwhile"))
    wait_until(lambda: not store.health().ok, 60)
    assert "not permitted" in str(store.health().detail)
    assert texts(store) == ["one before"], "what is stored can be read all the while"
    with pytest.raises((StoreError, OSError), match="not permitted"):
        store.seal()
    assert not waiting.done()
    thaw(folder)
    waiting.result(timeout=60)
    wait_until(lambda: store.health().ok, 60)
    assert texts(store) == ["one before", "meanwhile"]
    assert store.seal() > 0
    assert texts(store) == ["one before", "meanwhile"]
    store.close()


def test_unwritable_store_is_not_opened(folder: Path) -> None:
    Store.open(Settings(data_dir=folder)).close()
    freeze(folder)
    with pytest.raises(StoreError, match=r"store\.duckdb cannot be opened: .*not permitted"):
        Store.open(Settings(data_dir=folder))
    with pytest.raises(StoreError, match=r"The data folder .* cannot be created: Operation not permitted"):
        Store.open(Settings(data_dir=folder / "within"))
    thaw(folder)
    store = Store.open(Settings(data_dir=folder), clock=lambda: NOW + timedelta(hours=1))
    assert store.health().ok
    store.close()
