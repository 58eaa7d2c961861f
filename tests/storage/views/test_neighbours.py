"""Runs with neighbours on their machine: a third server takes its share of what two are compared by."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from analysis.runs.conditions import Span
from domain import Config, Run
from load_records import RequestRecord
from samples import Batch, CounterSample
from storage.queries import load_queries
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


def span(run_id: str, began_min: float, ended_min: float) -> Span:
    return Span(run_id, T0 + timedelta(minutes=began_min), T0 + timedelta(minutes=ended_min))


def beside(store: Store, *spans: Span) -> dict[str, set[str]]:
    texts_by_name: dict[str, set[str]] = {span.run_id: set() for span in spans}
    for neighbour in load_queries.neighbours(store, spans):
        texts_by_name[neighbour.span.run_id].add(neighbour.run_id)
    return texts_by_name


def test_neighbours_share_machine_and_time(store: Store) -> None:
    for run in (
        a_run("one", 0, 10),
        a_run("at its end", 10, 20),
        a_run("inside", 12, 14),
        a_run("live", 13, None),
        a_run("elsewhere", 0, 30, "m2"),
        a_run("never started", None, 15),
        a_run("a log", 12, 14).model_copy(update={"kind": "imported"}),
    ):
        store.save_run(run)
    assert beside(store, span("one", 0, 10)) == {"one": set()}
    assert beside(store, span("at its end", 10, 20)) == {"at its end": {"inside", "live"}}
    assert beside(store, span("at its end", 10, 11)) == {"at its end": set()}, "only while it was measured"
    assert beside(store, span("elsewhere", 0, 30)) == {"elsewhere": set()}


def test_attached_neighbour_begins_at_first_look(store: Store) -> None:
    store.save_run(a_run("launched", 5, 15))
    store.save_run(a_run("attached", None, None).model_copy(update={"kind": "attached"}))
    assert beside(store, span("launched", 6, 9)) == {"launched": {"attached"}}


def test_live_run_stays_up_after_backward_clock(store: Store) -> None:
    ahead = (datetime.now(UTC) - T0) / timedelta(minutes=1) + 60
    store.save_run(a_run("live", ahead, None))
    store.save_run(a_run("live too", ahead + 1, None))
    assert beside(store, span("live", ahead + 1, ahead + 2)) == {"live": {"live too"}}


def test_only_working_watched_server_is_company(store: Store) -> None:
    for name in ("mine", "idle", "asked", "counting"):
        store.save_run(a_run(name, 0, None))
    at = T0 + timedelta(minutes=2)
    request = RequestRecord("asked", "q", "w", "measure", "a", 0, 1, sent_at=at, total_ms=1000.0)
    counters = [
        CounterSample(name, at + timedelta(seconds=n), float(n), "vllm.counter", generation_tokens_total=tokens * n)
        for n in range(3)
        for name, tokens in (("idle", 0.0), ("counting", 50.0))
    ]
    store.write(Batch((request, *counters))).result()
    told = {neighbour.run_id: neighbour.worked for neighbour in load_queries.neighbours(store, [span("mine", 1, 3)])}
    assert told == {"idle": False, "asked": True, "counting": True}
    later = {neighbour.run_id: neighbour.worked for neighbour in load_queries.neighbours(store, [span("mine", 5, 6)])}
    assert later == {"idle": False, "asked": False, "counting": False}
