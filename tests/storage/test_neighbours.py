"""Which runs had company on their machine: a third server takes its share of what two are compared by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain import Config, Run
from storage.ask import queries
from storage.store import Store

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def a_run(run_id: str, start_min: float | None, end_min: float | None, machine: str = "m1") -> Run:
    def at(minutes: float | None) -> datetime | None:
        return None if minutes is None else T0 + timedelta(minutes=minutes)

    return Run(
        id=run_id,
        name=run_id,
        color=0,
        config=Config(),
        machine_id=machine,
        created_at=T0,
        started_at=at(start_min),
        ended_at=at(end_min),
    )


def test_only_servers_of_the_same_machine_and_time_are_neighbours(store: Store) -> None:
    for run in (
        a_run("one", 0, 10),
        a_run("at its end", 10, 20),
        a_run("inside", 12, 14),
        a_run("live", 13, None),
        a_run("elsewhere", 0, 30, "m2"),
        a_run("never started", None, 15),
    ):
        store.save_run(run)
    found = queries.neighbours(store, ["one", "at its end", "inside", "live", "elsewhere", "never started"])
    assert found == {"one": 0, "at its end": 2, "inside": 2, "live": 2, "elsewhere": 0, "never started": 0}


def test_a_server_attached_by_its_address_is_a_neighbour_from_when_it_was_met(store: Store) -> None:
    store.save_run(a_run("launched", 5, 15))
    store.save_run(a_run("attached", None, None).model_copy(update={"kind": "attached"}))
    assert queries.neighbours(store, ["launched", "attached"]) == {"launched": 1, "attached": 1}


def test_a_live_run_is_up_after_the_clock_was_set_back(store: Store) -> None:
    ahead = (datetime.now(UTC) - T0) / timedelta(minutes=1) + 60
    store.save_run(a_run("live", ahead, None))
    store.save_run(a_run("live too", ahead + 1, None))
    assert queries.neighbours(store, ["live", "live too"]) == {"live": 1, "live too": 1}
