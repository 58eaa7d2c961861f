"""Requests that can be replayed side by side: those that all loads sent alone, with the time of each piece."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from analysis.evidence.loads import LoadRecord, common_keys
from analysis.loads.replay import Scene, loads_in_common, scene_answers, scenes
from load_records import RequestRecord

T0 = datetime(2026, 11, 20, 12, tzinfo=UTC)


def request(run_id: str, phase: int, place: int, prompt: str = "p", **updates: object) -> RequestRecord:
    fields = {"ttft_ms": 10.0, "decode_ms": 90.0, "total_ms": 100.0, "completion_tokens": 4, "prompt_hash": prompt}
    placed = {"phase_index": phase, "sequence": place, "since_phase_s": 0.5 + place}
    return RequestRecord(
        run_id, f"{run_id}-{phase}-{place}", "w", "measure", f"class {phase}", 0, 1, T0 + timedelta(seconds=place),
        **{**fields, **placed, **updates},  # type: ignore[arg-type]
    )  # fmt: skip


def load(run_id: str, *requests: RequestRecord, load_id: str = "one") -> LoadRecord:
    return LoadRecord(run_id, load_id, requests=requests)


def test_phase_replays_whole_or_per_request() -> None:
    loads = [load(run, request(run, 1, 0), request(run, 1, 1), request(run, 2, 0)) for run in "ab"]
    assert scenes(loads) == [
        Scene(1, None, ("class 1",), 1, 2),
        Scene(1, 0, ("class 1",), 1, 1),
        Scene(1, 1, ("class 1",), 1, 1),
        Scene(2, 0, ("class 2",), 1, 1),
    ]


def test_incomplete_or_failed_pieces_not_offered() -> None:
    ours = load("a", request("a", 1, 0), request("a", 1, 1), request("a", 1, 2, "other"))
    theirs = load("b", request("b", 1, 0), request("b", 1, 1, error_kind="closed"), request("b", 1, 2))
    assert scenes([ours, theirs]) == [Scene(1, 0, ("class 1",), 1, 1)]


def test_newest_most_shared_load_is_taken() -> None:
    old, new = load("a", request("a", 1, 0), load_id="old"), load("a", request("a", 1, 0, "else"), load_id="new")
    loads = [load("b", request("b", 1, 0), load_id="first"), load("b", request("b", 1, 0), load_id="again")]
    alone = load("c", request("c", 1, 0, "of its own"))
    chosen_loads = loads_in_common({"a": [old, new], "b": loads, "c": [alone]})
    assert {run_id: value.load_id for run_id, value in chosen_loads.items()} == {"a": "old", "b": "again"}


def test_run_without_whole_request_has_no_replay() -> None:
    assert loads_in_common({"a": [load("a", request("a", 1, 0, error_kind="closed"))], "b": []}) == {}


def test_pieces_keep_time_since_first_request() -> None:
    one = load("a", request("a", 1, 0), request("a", 1, 1))
    pieces = {"a-1-0": ([10_000, 30_000, 60_000], [1, 2, 1]), "a-1-1": ([20_000, 40_000], None)}
    first, second = scene_answers(one, common_keys([one]), scenes([one])[0], pieces)
    assert first.at_s == (0.01, 0.04, 0.1) and first.tokens == (1, 2, 1)
    assert second.sent_s == 1.0 and [round(at, 6) for at in second.at_s] == [1.02, 1.06] and second.tokens is None


def test_mismatched_counts_and_times_are_rejected() -> None:
    one = load("a", request("a", 1, 0), request("a", 1, 1))
    actual_scene_answers = scene_answers(
        one, common_keys([one]), scenes([one])[0], {"a-1-0": ([10, 20], [1]), "a-1-1": (None, None)}
    )
    assert len(actual_scene_answers) == 1 and actual_scene_answers[0].tokens is None


def test_unknown_start_excluded_beside_others() -> None:
    one = load("a", request("a", 1, 0, since_phase_s=None), request("a", 1, 1))
    pieces = {"a-1-0": ([10_000], None), "a-1-1": ([20_000], None)}
    whole, single, _ = scenes([one])
    assert [answer.at_s for answer in scene_answers(one, common_keys([one]), whole, pieces)] == [(0.02,)]
    assert [answer.at_s for answer in scene_answers(one, common_keys([one]), single, pieces)] == [(0.01,)]
