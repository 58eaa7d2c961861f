"""The limits of the views, each from both sides: which intervals count, and over which seconds a rate is taken."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from samples import CounterSample, LogSample
from storage.store import Store
from tests.storage.views.test_rates import NOW, only, rows, save_samples, vllm


def test_prompt_tokens_over_reported_seconds(store: Store) -> None:
    """A window of 8 s decodes 200 tok/s; the prompt's counter is known for 6 s of it, in which 300 tokens came."""
    looks: list[CounterSample] = [vllm(s, 200.0 * s, prompt=50.0 * s) for s in (0, 2, 4, 6)]
    save_samples(store, *looks, vllm(8, 1600.0, prompt_tokens_total=None))
    window = only(store, "FROM run_windows(8)")
    assert (window["window_s"], window["covered_s"], window["decode_s"]) == (8, 8, 8)
    assert window["prompt_tps"] == pytest.approx(50.0)
    assert window["decode_tps"] == pytest.approx(200.0)


@pytest.mark.parametrize(
    ("apart_s", "gap_s", "is_silence"),
    [(1.0, 4.9, False), (1.0, 5.1, True), (2.0, 5.9, False), (2.0, 6.1, True), (10.0, 29.0, False), (10.0, 31.0, True)],
)
def test_silence_is_5_s_or_three_intervals(store: Store, apart_s: float, gap_s: float, is_silence: bool) -> None:
    times = [apart_s * n for n in range(8)]
    times.append(times[-1] + gap_s)
    save_samples(store, *(vllm(s, 50 * s) for s in times))
    last = rows(store)[-1]
    assert last["reason"] == (f"no_answer seconds={gap_s:.1f}" if is_silence else None)
    assert (last["decode_tps"] is None) == is_silence


def checked(store: Store, *counters: Any, window_s: float = 10.0) -> float | None:
    """What the counters say of one log line that speaks of the 10 s before second 20."""
    when = NOW + timedelta(seconds=20)
    save_samples(store, *counters, LogSample("r1", when, 1, 1, "vllm.log", window_s=window_s, generation_tps=50.0))
    value: float | None = only(store, "FROM samples_crosscheck")["counter_tps"]
    return value


@pytest.mark.parametrize(("until_s", "is_told"), [(18.9, False), (19.1, True), (21.0, True)])
def test_log_line_check_needs_90_percent_cover(store: Store, until_s: float, is_told: bool) -> None:
    looks = [vllm(s, 50.0 * s) for s in (5, 7, 9, 11, 13, 15, 17)]
    assert checked(store, *looks, vllm(until_s, 50 * until_s)) == (pytest.approx(50.0) if is_told else None)


@pytest.mark.parametrize(("unknown_at_s", "is_told"), [(19.8, True), (19.0, False)])
def test_seconds_without_tokens_give_no_coverage(store: Store, unknown_at_s: float, is_told: bool) -> None:
    """From that second on the counter is silent; what is told before stays 50 tok/s."""
    looks = [vllm(s, 50.0 * s) for s in (9, 11, 13, 15, 17, 18.5)]
    if is_told:
        looks.append(vllm(unknown_at_s, 50 * unknown_at_s))
    silent = vllm(21, 0, generation_tokens_total=None, first_tokens_total=None, inter_token_count_total=None)
    assert checked(store, *looks, silent) == (pytest.approx(50.0) if is_told else None)


def test_look_over_line_end_counts_by_share(store: Store) -> None:
    """100 tok/s up to second 8, none from there to 12, 50 from there on: of 10 to 20 that is 0 for 2 s, 50 for 8 s."""
    tokens = {0: 0.0, 4: 400.0, 8: 800.0, 12: 800.0, 16: 1000.0, 20: 1200.0}
    assert checked(store, *(vllm(s, count) for s, count in tokens.items())) == pytest.approx(40.0)


@pytest.mark.parametrize(("gap_s", "looks"), [(0.24, 4), (0.26, 5)])
def test_looks_within_quarter_second_are_merged(store: Store, gap_s: float, looks: int) -> None:
    save_samples(store, *(vllm(s, 50 * s) for s in (0, 1, 2, 2 + gap_s, 3, 4)))
    assert len(rows(store)) == looks
    assert {round(row["decode_tps"], 6) for row in rows(store)} == {50.0}


@pytest.mark.parametrize(
    ("before", "after", "activity"), [(1.0, 1.0, "active"), (1.0, 0.0, "mixed"), (0.0, 1.0, "mixed")]
)
def test_decoding_needs_a_request_throughout(store: Store, before: float, after: float, activity: str) -> None:
    save_samples(store, vllm(0, 0, requests_running=before), vllm(1, 50, requests_running=after))
    assert only(store)["activity"] == activity


def test_steps_over_reported_seconds(store: Store) -> None:
    save_samples(store, vllm(0, 0), vllm(2, 100), vllm(4, 200, inter_token_count_total=None))
    window = only(store, "FROM run_windows(4)")
    assert (window["window_s"], window["decode_tps"]) == (4, pytest.approx(50.0))
    assert window["steps_per_s"] == pytest.approx(50.0) and window["tokens_per_step"] == pytest.approx(1.0)
