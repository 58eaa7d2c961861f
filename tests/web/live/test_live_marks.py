"""Marks on the charts of a run: its loads, phases, outages and troubles, sent once and queried seldom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain import Config, Run, RunState
from load_records import Load, LoadPhase, RequestRecord
from samples import Batch, CounterSample, Event, GpuSample, Sample
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


def load_of(load: str = "l", tool: str = "pitwall", source: str | None = None) -> Load:
    return Load("r1", load, at(1), tool, "ladder", planned_phases=2, source_name=source)


def write(store: Store, *samples: Sample) -> None:
    store.write(Batch(samples)).result()


def marks_of(store: Store, clock: list[float] | None = None) -> list[tuple[float, str, str]]:
    marks = LiveMarks(lambda: clock[0] if clock else 0.0).get(store, ["r1"])["r1"]
    return [(mark["t"] - T0.timestamp(), mark["kind"], mark["text"]) for mark in marks]


def test_load_ends_with_its_last_phase(store: Store) -> None:
    write(store, load_of(), phase(0))
    assert marks_of(store) == [(1, "load", "ladder"), (5, "phase", "phase 0")]
    write(store, phase(1))
    assert marks_of(store)[2:] == [(25, "phase", "phase 1"), (40, "load_end", "ladder")]


def test_only_outages_among_events_are_marked(store: Store) -> None:
    write(store, Event("r1", at(7), "outage", "no answer for 3 s"), Event("r1", at(8), "warning", "slow"))
    assert marks_of(store) == [(7, "outage", "no answer for 3 s")]


def look(second: int, **counted: float) -> CounterSample:
    return CounterSample("r1", at(second), float(second), "vllm.counter", **counted)  # type: ignore[arg-type]


def test_a_server_that_began_anew_is_marked(store: Store) -> None:
    write(store, *(look(n, process_start_s=5.0 if n < 100 else 99.0, preemptions_total=0.0) for n in range(90, 110)))
    assert marks_of(store) == [(100, "restart", "")]


def test_start_of_preemptions_is_marked(store: Store) -> None:
    counted = {10: 0, 11: 0, 12: 3, 13: 3, 14: 4, 60: 5, 130: 5, 131: 6}
    write(store, *(look(second, preemptions_total=float(count)) for second, count in counted.items()))
    assert marks_of(store) == [(12, "preemption", ""), (131, "preemption", "")]


def test_hardware_clock_marked_not_power_limit(store: Store) -> None:
    bits = {10: 0x04, 20: 0x04 | 0x40, 21: 0x40, 22: 0, 200: 0x08}
    write(store, *(GpuSample("r1", at(n), float(n), "m", gpu, throttle_reasons=found * gpu)
                   for n, found in bits.items() for gpu in (0, 1)))  # fmt: skip
    assert marks_of(store) == [(20, "throttle", ""), (200, "throttle", "")]


def test_looping_answer_is_marked_at_its_end(store: Store) -> None:
    def answer(name: str, second: float, verdict: str) -> RequestRecord:
        return RequestRecord(
            "r1",
            name,
            "w",
            "measure",
            "code",
            0,
            1,
            at(second),
            total_ms=2500.0,
            extra={"collapse": {"verdict": verdict}},
        )

    write(store, answer("a", 5, "none"), answer("b", 20, "collapsed"), answer("c", 30, "collapsed"))
    assert marks_of(store) == [(22.5, "collapse", "")]


def test_many_troubles_crowd_out_no_load(store: Store) -> None:
    write(store, load_of(), *(look(100 * n, preemptions_total=float(n)) for n in range(300)))
    kinds = [kind for _, kind, _ in marks_of(store)]
    assert (kinds[0], kinds.count("preemption")) == ("load", 100)


def test_external_measurement_has_no_mark(store: Store) -> None:
    write(store, load_of("imported", "llama-benchy", "result.json"), phase(0, "imported"), load_of("said", "declared"))
    assert marks_of(store) == []


def test_marks_are_queried_again_after_seconds(store: Store) -> None:
    now = [100.0]
    marks = LiveMarks(lambda: now[0])
    assert marks.get(store, ["r1"]) == {"r1": []}
    write(store, load_of())
    now[0] += ASKED_EVERY_S - 0.1
    assert marks.get(store, ["r1"]) == {"r1": []}
    now[0] += 0.1
    assert [one["kind"] for one in marks.get(store, ["r1"])["r1"]] == ["load"]


def test_browser_gets_all_marks_after_an_addition(store: Store) -> None:
    store.save_run(Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0,
                       started_at=T0, state=RunState.RUNNING))  # fmt: skip
    first = StoreReader(lambda: store).snapshots(["r1"])["r1"]
    assert "marks" not in first
    write(store, load_of(), phase(0))
    then = StoreReader(lambda: store).since({"r1": first["cursor"]})["r1"]
    assert [mark["kind"] for mark in then["marks"]] == ["load", "phase"]
    assert "marks" not in StoreReader(lambda: store).since({"r1": then["cursor"]})["r1"]
