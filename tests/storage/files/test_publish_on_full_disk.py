"""A disk that is full at any moment of a publication: readers keep all rows that they had, and the reason is told."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from samples import Batch, Event
from settings import Settings
from storage.published_query import published_query
from storage.store import Store

pytestmark = pytest.mark.wide

ROWS = 1_500  # of a kilobyte each
LEFT_BYTES = range(500_000, 8_000_000, 250_000)


def test_published_rows_stay_on_a_full_disk(small_disk: Path) -> None:
    settings = Settings(data_dir=small_disk / "data")
    store = Store.open(settings)
    noise = (Event("r1", datetime.now(UTC), "state", os.urandom(500).hex()) for _ in range(ROWS))
    store.write(Batch(tuple(noise))).result()
    store.publish()
    ballast = small_disk / "ballast"
    outcomes = set()
    for left_byte in LEFT_BYTES:
        ballast.unlink(missing_ok=True)
        room = os.statvfs(small_disk)
        ballast.write_bytes(bytes(room.f_bavail * room.f_frsize - left_byte))
        try:
            store.publish()
            outcomes.add("published")
        except (OSError, duckdb.Error) as error:
            assert "No space left on device" in str(error)
            outcomes.add("refused")
        with published_query(settings.published_path) as query:
            [row] = query("SELECT count(*) AS rows FROM events", {}).to_pylist()
        assert row["rows"] == ROWS, f"with {left_byte:,} bytes left"
    assert outcomes == {"published", "refused"}
    ballast.unlink()
    store.close()
