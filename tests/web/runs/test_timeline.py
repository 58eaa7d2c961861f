"""The Run page shows no more than so many events, and keeps those that tell what became of the run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain import Config, Run
from samples import Batch, Event
from storage.queries import run_data
from storage.store import Store
from web.runs.page.timeline import timeline_table

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
RUN = Run(id="r1", name="fp8", color=0, machine_id="m", created_at=NOW, started_at=NOW, config=Config())


@pytest.fixture
def noisy_store(store: Store) -> Store:
    """A run whose log warns twice a second, a failure among it; its own story is five events."""
    milestones = [
        (0, "state", "starting"),
        (1, "phase", "loading"),
        (2, "state", "ready"),
        (30, "failure", "out of memory"),
    ]
    milestones += [(40, "workload", "five-prompts ended"), (41, "state", "failed")]
    warned = [(n / 2, "warning", f"warning {n}") for n in range(80)]
    rows = [*milestones, *warned, (1, "startup", "a start-up fact")]
    store.save_run(RUN)
    store.write(Batch(tuple(Event("r1", NOW + timedelta(seconds=at), kind, text) for at, kind, text in rows))).result()
    return store


def test_run_phases_stay_with_the_newest_events(noisy_store: Store) -> None:
    rows, left_out = run_data.events(noisy_store, "r1", most=10)
    assert [row.text for row in rows if row.kind != "warning"] == [
        "starting", "loading", "ready", "out of memory", "five-prompts ended", "failed",
    ]  # fmt: skip
    assert [row.text for row in rows if row.kind == "warning"] == [f"warning {n}" for n in range(76, 80)]
    assert rows == sorted(rows, key=lambda row: row.ts) and left_out == 76


def test_of_the_course_itself_the_newest_stays(noisy_store: Store) -> None:
    assert [row.text for row in run_data.events(noisy_store, "r1", most=2).rows] == ["five-prompts ended", "failed"]


def test_the_page_says_how_many_it_leaves_out(noisy_store: Store) -> None:
    assert "76 older or less important events are not shown." in timeline_table(
        RUN, run_data.events(noisy_store, "r1", 10)
    )
    assert "not shown" not in timeline_table(RUN, run_data.events(noisy_store, "r1"))
    assert "a start-up fact" not in timeline_table(RUN, run_data.events(noisy_store, "r1"))
    assert run_data.events(noisy_store, "nobody") == run_data.Events([], 0)
