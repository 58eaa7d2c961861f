"""Rates and acceptance: on increments one can compute by hand, and on counters of real servers."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain import Config, Run, Speculation
from samples import Batch, CounterSample, LogSample
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
PLAIN = Config(engine="vllm", argv=("serve",))
DRAFTING = Config(engine="sglang", argv=("serve",), speculative=Speculation(method="eagle"))
# Read off /metrics of real servers on a CPU: before, during and after a load.
VLLM_NGRAM = [
    {"generation_tokens_total": g, "first_tokens_total": f, "inter_token_count_total": i, "drafts_total": d,
     "draft_tokens_total": a, "accepted_tokens_total": a, "accepted_per_pos_total": p, "requests_running": r}
    for g, f, i, d, a, p, r in (
        (0.0, 0.0, 0.0, 0.0, 0.0, [0.0] * 4, 0.0),
        (42984.0, 171.0, 9249.0, 8562.0, 33564.0, [8562.0, 8391.0, 8391.0, 8220.0], 4.0),
        (108423.0, 553.0, 37658.0, 17905.0, 70212.0, [17905.0, 17553.0, 17553.0, 17201.0], 8.0),
        (129912.0, 769.0, 58931.0, 17905.0, 70212.0, [17905.0, 17553.0, 17553.0, 17201.0], 0.0),
    )
]  # fmt: skip
VLLM_PLAIN = [
    {"generation_tokens_total": g, "first_tokens_total": f, "inter_token_count_total": i, "requests_running": r}
    for g, f, i, r in ((0.0, 0.0, 0.0, 0.0), (17820.0, 143.0, 17677.0, 3.0), (85912.0, 806.0, 85106.0, 0.0))
]
LLAMACPP_DRAFT = [
    {"generation_tokens_total": g, "decode_seconds_total": s, "decode_calls_total": c, "drafts_total": d,
     "draft_tokens_total": t, "accepted_tokens_total": a, "accepted_per_pos_total": p}
    for g, s, c, d, t, a, p in (
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, [0.0] * 5),
        (450.0, 1.11748, 188.0, 184.0, 914.0, 262.0, [117.0, 70.0, 38.0, 22.0, 15.0]),
    )
]  # fmt: skip


def save_samples(store: Store, *samples: Any, config: Config = PLAIN, ready_s: float = 0.0) -> None:
    ready = NOW + timedelta(seconds=ready_s)
    run = Run(id="r1", name="r1", color=0, config=config, machine_id="m", created_at=NOW, ready_at=ready)
    store.write(Batch(samples))
    store.save_run(run)


def at(second: float, definition: str = "vllm.counter", rank: int = 0, **counters: Any) -> CounterSample:
    return CounterSample("r1", NOW + timedelta(seconds=second), 1000.0 + second, definition, rank, **counters)


def vllm(second: float, tokens: float, first: float = 0.0, prompt: float = 0.0, **more: Any) -> CounterSample:
    """A vLLM in which every step gives each request one token."""
    counted = {
        "generation_tokens_total": tokens,
        "first_tokens_total": first,
        "inter_token_count_total": tokens - first,
        "prompt_tokens_total": prompt,
        "requests_running": 1.0,
    }
    return at(second, **(counted | more))


def rows(
    store: Store, sql: str = "FROM engine_samples ORDER BY ts, engine_index", *params: object
) -> list[dict[str, Any]]:
    return list(store.query(sql, params).to_pylist())


def only(store: Store, sql: str = "FROM engine_samples", *params: object) -> dict[str, Any]:
    [row] = rows(store, sql, *params)
    return row


def test_vllm_by_hand(store: Store) -> None:
    """In 2 s: 110 tokens of which 2 are first ones, 50 steps after the first token, 20 drafts of 4, 40 accepted."""
    before = {"drafts_total": 5.0, "draft_tokens_total": 20.0, "accepted_tokens_total": 9.0}
    after = {"drafts_total": 25.0, "draft_tokens_total": 100.0, "accepted_tokens_total": 49.0}
    save_samples(
        store,
        at(0, generation_tokens_total=10.0, first_tokens_total=1.0, inter_token_count_total=7.0,
           accepted_per_pos_total=[5.0, 4.0], **before),
        at(2, generation_tokens_total=120.0, first_tokens_total=3.0, inter_token_count_total=57.0,
           accepted_per_pos_total=[23.0, 14.0], requests_running=2.0, kv_usage_ratio=0.5, **after),
    )  # fmt: skip
    row = only(store)
    assert row["source"] == "counter"
    assert row["window_s"] == pytest.approx(2.0)
    assert row["decode_tps"] == pytest.approx((110 - 2) / 2)
    assert row["tokens_per_step"] == pytest.approx(110 / 52)
    assert row["steps_per_s"] == pytest.approx(52 / 2)
    assert row["acceptance_length"] == pytest.approx(1 + 40 / 20)
    assert row["acceptance_rate"] == pytest.approx(40 / 80)
    assert row["per_position"] == pytest.approx([18 / 20, 10 / 20])
    assert (row["requests_running"], row["kv_usage_ratio"], row["reason"]) == (2.0, 0.5, None)


def test_vllm_ngram_capture(store: Store) -> None:
    """A real n-gram run: long drafts when they come, but they come rarely."""
    save_samples(store, *(at(10 * i, **counters) for i, counters in enumerate(VLLM_NGRAM)))
    row = only(store, "FROM run_windows(1000)")
    assert row["acceptance_length"] == pytest.approx(1 + 70212 / 17905)
    assert row["tokens_per_step"] == pytest.approx(129912 / (58931 + 769))
    assert row["decode_tps"] == pytest.approx((129912 - 769) / 30)
    assert row["per_position"] == pytest.approx([n / 17905 for n in (17905, 17553, 17553, 17201)])
    last = rows(store)[-1]
    assert last["acceptance_length"] is None, "no draft in the last interval: unknown, not 1"


def test_vllm_plain_capture_has_no_acceptance(store: Store) -> None:
    save_samples(store, *(at(10 * i, **counters) for i, counters in enumerate(VLLM_PLAIN)))
    for row in rows(store):
        assert row["tokens_per_step"] == 1.0
        assert row["acceptance_length"] is row["acceptance_rate"] is row["per_position"] is None


def test_llamacpp_capture_counts_per_stream(store: Store) -> None:
    save_samples(
        store,
        *(at(i, "llamacpp.counter", **counters) for i, counters in enumerate(LLAMACPP_DRAFT)),
        at(2, "llamacpp.counter", **LLAMACPP_DRAFT[1]),
    )
    row = only(store)  # the second interval, in which no request finished, has no row
    assert row["decode_tps"] == pytest.approx(450 / 1.11748)
    assert row["tokens_per_step"] == pytest.approx(450 / 188), "the steps are llama_decode's calls"
    assert row["steps_per_s"] == pytest.approx(188 / 1.11748)
    assert row["acceptance_length"] == pytest.approx(1 + 262 / 184)
    assert row["acceptance_rate"] == pytest.approx(262 / 914)
    assert row["activity"] is None


def test_sglang_speculation_has_gauges_no_steps(store: Store) -> None:
    gauges = {"requests_running": 1.0, "accept_length_gauge": 2.5, "accept_rate_gauge": 0.5, "prompt_tokens_total": 7.0}
    save_samples(
        store, *(at(s, "sglang.counter", decode_tokens_total=100.0 * s, **gauges) for s in (0, 1)), config=DRAFTING
    )
    row = only(store)
    assert row["decode_tps"] == pytest.approx(100)
    assert row["tokens_per_step"] == row["acceptance_length"] == pytest.approx(2.5)
    assert row["acceptance_rate"] == pytest.approx(0.5)
    assert row["steps_per_s"] is row["steps"] is None
    assert row["reason"] == "no_step_counter"
    assert row["activity"] == "active"


@pytest.mark.parametrize(
    ("config", "steps_per_s", "reason"),
    [(PLAIN, 80.0, None), (Config(engine="sglang"), None, "speculation_not_known")],
)
def test_sglang_steps_known_only_without_drafts(
    store: Store, config: Config, steps_per_s: float | None, reason: str | None
) -> None:
    save_samples(store, *(at(s, "sglang.counter", decode_tokens_total=80.0 * s) for s in (0, 1)), config=config)
    row = only(store)
    assert (row["decode_tps"], row["steps_per_s"], row["reason"]) == (80.0, steps_per_s, reason)


def test_counter_fall_is_a_reset_never_a_rate(store: Store) -> None:
    save_samples(store, vllm(0, 1000), vllm(1, 1050), vllm(2, 10), vllm(3, 60))
    first, reset, last = rows(store)
    assert (first["decode_tps"], last["decode_tps"]) == (50, 50)
    assert reset["reason"] == "counter_reset"
    rates = ("decode_tps", "steps_per_s", "tokens_per_step", "prompt_tps", "preemptions", "activity", "decode_tokens")
    assert {reset[name] for name in rates} == {None}
    assert reset["covered_s"] == 0


def test_outage_is_a_gap_not_a_giant_difference(store: Store) -> None:
    save_samples(store, *(vllm(s, 50 * s) for s in (0, 1, 2, 3, 60, 61)))
    gap = rows(store)[3]
    assert gap["decode_tps"] is None
    assert gap["reason"] == "no_answer seconds=57.0"
    assert [row["decode_tps"] for row in rows(store) if row is not gap and row["reason"] is None] == [50] * 4
    window = only(store, "FROM run_windows(100)")
    assert (window["decode_tps"], window["covered_s"]) == (50, 4)


def test_a_slow_scrape_interval_is_no_outage(store: Store) -> None:
    save_samples(store, *(vllm(10 * s, 500 * s) for s in range(5)))
    assert [row["decode_tps"] for row in rows(store)] == [50] * 4


def test_time_is_monotonic_under_any_wall_clock(store: Store) -> None:
    save_samples(store, vllm(0, 0), replace(vllm(1, 50), ts=NOW - timedelta(hours=1)), vllm(2, 100))
    assert [row["decode_tps"] for row in rows(store)] == [50, 50]


@pytest.mark.parametrize(
    ("before", "after", "activity"),
    [
        (vllm(0, 0), vllm(1, 50), "active"),
        (vllm(0, 0), vllm(1, 50, first=1), "mixed"),
        (vllm(0, 0), vllm(1, 50, prompt=9), "mixed"),
        (vllm(0, 0, requests_running=0.0), vllm(1, 50), "mixed"),
        (vllm(0, 0), vllm(1, 0, prompt=9), "prefill"),
        (vllm(0, 0), vllm(1, 0), "prefill"),
        (vllm(0, 0), vllm(1, 0, requests_running=0.0), "idle"),
        (at(0, generation_tokens_total=0.0), at(1, generation_tokens_total=9.0), None),
    ],
)
def test_activity(store: Store, before: CounterSample, after: CounterSample, activity: str | None) -> None:
    save_samples(store, before, after)
    assert only(store)["activity"] == activity


def test_ranks_sum_and_ratios_use_sums(store: Store) -> None:
    drafts = {"drafts_total": 0.0, "accepted_tokens_total": 0.0, "accepted_per_pos_total": [0.0, 0.0]}
    save_samples(
        store,
        vllm(0, 0, kv_usage_ratio=0.1, **drafts),
        replace(vllm(0, 0, **drafts), engine_index=1),
        vllm(1, 100, kv_usage_ratio=0.2, drafts_total=10.0, accepted_tokens_total=30.0,
             accepted_per_pos_total=[10.0, 9.0]),
        replace(vllm(1, 20, drafts_total=30.0, accepted_tokens_total=0.0, accepted_per_pos_total=[2.0, 1.0]),
                engine_index=1, kv_usage_ratio=0.4),
    )  # fmt: skip
    assert [row["decode_tps"] for row in rows(store)] == [100, 20]
    row = only(store, "FROM run_samples")
    assert (row["decode_tps"], row["requests_running"], row["engine_index"]) == (120, 2, None)
    assert row["acceptance_length"] == pytest.approx(1 + 30 / 40)
    assert row["per_position"] == pytest.approx([12 / 40, 10 / 40])
    assert row["kv_usage_ratio"] == pytest.approx(0.3)
    assert row["activity"] == "active"


def test_unknown_share_of_a_rank_hides_the_sum(store: Store) -> None:
    save_samples(store, *(replace(vllm(s, tokens), engine_index=rank) for s, rank, tokens in
                 ((0, 0, 0), (0, 1, 500), (1, 0, 100), (1, 1, 3), (2, 0, 200), (2, 1, 53))))  # fmt: skip
    broken, whole = rows(store, "FROM run_samples ORDER BY ts")
    assert (broken["decode_tps"], broken["reason"]) == (None, "counter_reset")
    assert whole["decode_tps"] == 150


def test_windows_align_on_ready_and_use_sums(store: Store) -> None:
    """Ready after 3 s: the first window holds seconds 3 to 5, with 10 and 90 tokens in unequal steps."""
    counts = ((3, 0.0, 0.0), (4, 10.0, 10.0), (5, 100.0, 40.0), (6, 150.0, 90.0))
    samples = [vllm(s, tokens, inter_token_count_total=steps) for s, tokens, steps in counts]
    save_samples(store, *samples, ready_s=3.0)
    first, second = rows(store, "FROM engine_windows(2) ORDER BY since_ready_s")
    assert (first["since_ready_s"], first["window_s"], first["covered_s"]) == (2, 2, 2)
    assert first["decode_tps"] == 50
    assert first["tokens_per_step"] == pytest.approx(100 / 40)
    assert first["activity"] == "active"
    assert (second["since_ready_s"], second["covered_s"], second["decode_tps"]) == (4, 1, 50)


def test_a_window_with_prefill_inside_is_mixed(store: Store) -> None:
    save_samples(store, vllm(0, 0), vllm(1, 50), vllm(2, 100, first=1), vllm(3, 150, first=1), vllm(4, 200, first=1))
    assert [row["activity"] for row in rows(store, "FROM run_windows(2) ORDER BY ts")] == ["mixed", "active"]


def test_a_log_line_stands_as_it_was_printed(store: Store) -> None:
    line = LogSample(
        "r1", NOW, 10, 1, "vllm.log", window_s=10.0, generation_tps=33.5, acceptance_length=3.1, per_position=[0.9]
    )
    save_samples(store, line)
    row = only(store)
    assert (row["source"], row["window_s"], row["decode_tps"], row["acceptance_length"]) == ("log", 10, 33.5, 3.1)
    assert row["steps_per_s"] is row["tokens_per_step"] is None
    assert row["reason"] == "log_counts_no_steps"


def test_log_is_checked_against_same_seconds(store: Store) -> None:
    log = {"definition": "vllm.log", "window_s": 4.0}
    save_samples(
        store,
        *(vllm(s + 0.5, 50 * s) for s in range(12)),
        LogSample("r1", NOW + timedelta(seconds=8), 1, 1, generation_tps=40.0, **log),
        LogSample("r1", NOW + timedelta(seconds=30), 2, 2, generation_tps=40.0, **log),
    )
    within, after = rows(store, "FROM samples_crosscheck ORDER BY ts")
    assert within["counter_tps"] == pytest.approx(50)
    assert within["relative_difference"] == pytest.approx(0.25)
    assert after["counter_tps"] is after["relative_difference"] is None


def test_finished_requests_match_all_counters(store: Store) -> None:
    """Two requests of 100 tokens: in 1 s and in 3 s by the log, in 5 s together by the counters."""
    request = {"definition": "llamacpp.log", "kind": "request", "generated_tokens": 100.0}
    save_samples(
        store,
        *(at(s, "llamacpp.counter", generation_tokens_total=tokens, decode_seconds_total=seconds)
          for s, tokens, seconds in ((0, 0.0, 0.0), (2, 100.0, 1.5), (4, 100.0, 1.5), (6, 200.0, 5.0))),
        *(LogSample("r1", NOW + timedelta(seconds=s), s, s, window_s=took, generation_tps=100 / took, **request)
          for s, took in ((-9, 50.0), (1, 1.0), (5, 3.0))),
    )  # fmt: skip
    row = only(store, "FROM samples_crosscheck")
    assert (row["log_tps"], row["counter_tps"], row["window_s"]) == (50, 40, 6)
    assert row["relative_difference"] == pytest.approx(-0.2)
    save_samples(
        store, LogSample("r1", NOW + timedelta(seconds=6), 6, 6, window_s=1.0, generation_tps=100.0, **request)
    )
    assert only(store, "FROM samples_crosscheck")["counter_tps"] is None, "not the same requests"


def test_since_gives_what_all_gives(store: Store) -> None:
    save_samples(store, *(vllm(s, 50 * s) for s in range(200)))
    since = NOW + timedelta(seconds=150)
    recent = rows(store, "FROM run_samples_since(?) ORDER BY ts", since)
    assert recent == rows(store, "FROM run_samples WHERE ts > ? ORDER BY ts", since)
    assert len(recent) == 49
