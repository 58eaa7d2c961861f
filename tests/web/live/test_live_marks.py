"""What is marked on the charts of a watched run: its loads, phases and outages, told once and asked for seldom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain import Config, Run, RunState
from load_records import Load, LoadPhase
from samples import Batch, Event, Sample
from storage.store import Store
from web.live.live_marks import ASKED_EVERY_S, LiveMarks
from web.live.reader import StoreReader

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return T0 + timedelta(seconds=second)


def phase(index: int, load: str = "l") -> LoadPhase:
    return LoadPhase(
        "r1", load, at(20 * (index + 1)), index, f"phase {index}", "measure", 1, at(20 * index + 5), 15.0, 0.0, 5, True
    )


def begun(load: str = "l", tool: str = "pitwall", source: str | None = None) -> Load:
    return Load("r1", load, at(1), tool, "ladder", planned_phases=2, source_name=source)


def write(store: Store, *samples: Sample) -> None:
    store.write(Batch(samples)).result()


def told(store: Store, clock: list[float] | None = None) -> list[tuple[float, str, str]]:
    marks = LiveMarks(lambda: clock[0] if clock else 0.0).of(store, ["r1"])["r1"]
    return [(one["t"] - T0.timestamp(), one["kind"], one["text"]) for one in marks]


def test_a_load_has_ended_with_the_last_of_its_phases(store: Store) -> None:
    write(store, begun(), phase(0))
    assert told(store) == [(1, "load", "ladder"), (5, "phase", "phase 0")]
    write(store, phase(1))
    assert told(store)[2:] == [(25, "phase", "phase 1"), (40, "load_end", "ladder")]


def test_an_outage_is_marked_and_other_events_are_not(store: Store) -> None:
    write(store, Event("r1", at(7), "outage", "no answer for 3 s"), Event("r1", at(8), "warning", "slow"))
    assert told(store) == [(7, "outage", "no answer for 3 s")]


def test_what_was_measured_elsewhere_has_no_place_on_this_clock(store: Store) -> None:
    write(store, begun("imported", "llama-benchy", "result.json"), phase(0, "imported"), begun("said", "declared"))
    assert told(store) == []


def test_marks_are_asked_for_again_after_seconds_alone(store: Store) -> None:
    now = [100.0]
    marks = LiveMarks(lambda: now[0])
    assert marks.of(store, ["r1"]) == {"r1": []}
    write(store, begun())
    now[0] += ASKED_EVERY_S - 0.1
    assert marks.of(store, ["r1"]) == {"r1": []}
    now[0] += 0.1
    assert [one["kind"] for one in marks.of(store, ["r1"])["r1"]] == ["load"]


def test_a_browser_is_told_its_marks_whole_when_one_was_added(store: Store) -> None:
    store.save_run(Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0,
                       started_at=T0, state=RunState.RUNNING))  # fmt: skip
    first = StoreReader(lambda: store).snapshots(["r1"])["r1"]
    assert "marks" not in first
    write(store, begun(), phase(0))
    then = StoreReader(lambda: store).since({"r1": first["cursor"]})["r1"]
    assert [one["kind"] for one in then["marks"]] == ["load", "phase"]
    assert "marks" not in StoreReader(lambda: store).since({"r1": then["cursor"]})["r1"]
