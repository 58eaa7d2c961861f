"""Rates between requests, by what llama.cpp's slots tell at each look."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from samples import SlotSample
from storage.store import Store
from tests.storage.views.test_rates import NOW, only, rows, save_samples


def slot(second: float, number: int, task: int | None, decoded: int | None, calls: float | None = None) -> SlotSample:
    when = NOW + timedelta(seconds=second)
    return SlotSample("r1", when, 1000.0 + second, number, task, decoded is not None, decoded, None, None, calls)


def test_continuously_decoding_slot_gives_steps(store: Store) -> None:
    save_samples(
        store,
        slot(0, 0, 7, 10, 100.0),
        slot(0, 1, None, None, 100.0),
        slot(2, 0, 7, 60, 125.0),
        slot(2, 1, None, None, 125.0),
    )
    row = only(store)
    assert (row["definition"], row["source"]) == ("llamacpp.slots", "slots")
    assert (row["decode_tps"], row["tokens_per_step"], row["steps_per_s"]) == (25, 2, 12.5)
    assert (row["activity"], row["requests_running"], row["reason"]) == ("active", 1, None)


def test_two_slots_leave_shared_steps_unknown(store: Store) -> None:
    save_samples(store, *(slot(s, n, n, 10 + 30 * s, 100.0 + 30 * s) for s in (0, 1) for n in (0, 1)))
    row = only(store)
    assert (row["decode_tps"], row["activity"]) == (60, "active")
    assert row["steps_per_s"] is row["tokens_per_step"] is None
    assert row["reason"] == "several_requests"


def test_new_task_starts_at_zero_ended_is_partial(store: Store) -> None:
    save_samples(
        store, slot(0, 0, 1, 90), slot(1, 0, 2, 15), slot(2, 0, 2, 65), slot(3, 0, 2, None), slot(4, 0, 2, None)
    )
    changed, steady, ended, idle = rows(store)
    assert (changed["decode_tps"], changed["activity"]) == (None, "mixed")
    assert changed["reason"] == "request_ended_inside"
    assert (steady["decode_tps"], steady["activity"]) == (50, "active")
    assert (ended["decode_tps"], ended["activity"], ended["reason"]) == (None, "mixed", changed["reason"])
    assert (idle["decode_tps"], idle["activity"], idle["reason"]) == (0, "idle", None)


def test_request_between_two_looks_is_not_idle(store: Store) -> None:
    looks = [
        slot(0, 0, 3, 10, 50.0),
        slot(0, 1, None, None, 50.0),
        slot(1, 0, 3, 20, 60.0),
        slot(1, 1, None, None, 60.0),
    ]
    looks += [replace(slot(2, 1, None, None, 90.0), task=4), slot(2, 0, 3, 30, 90.0)]
    save_samples(store, *looks)
    steady, missed = rows(store)
    assert (steady["decode_tps"], steady["steps_per_s"], steady["activity"]) == (10, 10, "active")
    assert (missed["decode_tps"], missed["steps_per_s"], missed["activity"]) == (None, None, "mixed")
    assert missed["reason"] == "request_between_looks"


def test_a_slot_without_tokens_yet_is_in_prefill(store: Store) -> None:
    save_samples(
        store, slot(0, 0, None, None), slot(1, 0, 3, 0), slot(2, 0, 3, 0), slot(3, 0, 3, 40), slot(4, 0, 3, 90)
    )
    assert [row["activity"] for row in rows(store)] == ["prefill", "prefill", "mixed", "active"]
