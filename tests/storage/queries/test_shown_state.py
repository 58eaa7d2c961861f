"""A run that was cancelled before its start is shown as cancelled by Python and SQL, though it is stored finished."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Run, RunState
from settings import Settings
from storage.queries.run_queries import RunFilter, find_runs
from storage.store import Store

NOW = datetime(2026, 11, 27, tzinfo=UTC)
STARTED = {"started_at": NOW, "ended_at": NOW + timedelta(seconds=9)}
RUNS: list[tuple[dict[str, Any], str]] = [
    ({"state": RunState.FINISHED, **STARTED}, "finished"),
    ({"state": RunState.FINISHED, "ended_at": NOW}, "cancelled"),
    ({"state": RunState.FINISHED, "kind": "imported", "ended_at": NOW}, "finished"),  # a log without times
    ({"state": RunState.FAILED}, "failed"),
    ({"state": RunState.QUEUED}, "queued"),
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(Settings(data_dir=tmp_path / "data"))


def test_cancelled_run_is_shown_as_cancelled(store: Store) -> None:
    made_fields = {"color": 0, "config": Config(), "machine_id": "m", "created_at": NOW}
    for number, (fields, shown_run) in enumerate(RUNS):
        store.save_run(run := Run(id=f"r{number}", name=f"r{number}", **made_fields, **fields))
        assert run.shown_state == shown_run
    stored = store.query("SELECT shown_state FROM runs ORDER BY run_id", {})["shown_state"].to_pylist()
    filtered = [find_runs(store, RunFilter(states=(state,)), 9) for state in ("cancelled", "finished", "failed")]
    ordered = find_runs(store, RunFilter(order_by="state"), 9)
    store.close()
    assert stored == [shown for _, shown in RUNS]
    assert [[run.id for run in runs] for runs in filtered] == [["r1"], ["r2", "r0"], ["r3"]]
    assert [run.shown_state for run in ordered] == ["cancelled", "failed", "finished", "finished"]
