"""KV use of llama.cpp: the tokens its busy slots hold, out of the context of all its slots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from samples import Batch, SlotSample
from settings import Settings
from storage.store import Store

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def slot(second: float, number: int, busy: bool, tokens: int | None) -> SlotSample:
    return SlotSample("r1", T0 + timedelta(seconds=second), second, number, 1, busy, 10 if busy else None, tokens, 1000)


@pytest.mark.parametrize(("tokens", "ratio"), [(500, 0.25), (None, None)])
def test_busy_slots_count_and_unseen_are_unknown(tmp_path: Path, tokens: int | None, ratio: float | None) -> None:
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        looks = [slot(s, 0, True, tokens) for s in (0.0, 1.0)] + [slot(s, 1, False, 900) for s in (0.0, 1.0)]
        store.write(Batch(tuple(looks))).result()
        rows = store.query("SELECT kv_usage_ratio FROM engine_samples WHERE source = 'slots'").to_pylist()
        assert [row["kv_usage_ratio"] for row in rows] == [ratio]
    finally:
        store.close()
