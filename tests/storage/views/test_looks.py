"""Looks that are not what a rate needs: too close, too far apart, without a rank, across a restart, torn under load."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analysis.runs.speed_summary import summarize
from domain import Config, Run, Speculation
from samples import Batch, CounterSample, LogSample, SlotSample
from storage.queries import run_data
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
PLAIN = Config(engine="vllm", argv=("vllm", "serve", "m"))
DRAFTING = PLAIN.model_copy(update={"speculative": Speculation(method="draft_model", num_tokens=4)})


def save_samples(store: Store, samples: Iterable[Any], config: Config = PLAIN, **run: Any) -> None:
    record: dict[str, Any] = {"kind": "launched", "ready_at": NOW} | run
    store.write(Batch(tuple(samples)))
    store.save_run(Run(id="r1", name="r1", color=0, config=config, machine_id="m", created_at=NOW, **record))


def vllm(second: float, tokens: float, rank: int = 0, **more: Any) -> CounterSample:
    counted = {"first_tokens_total": 1.0, "inter_token_count_total": tokens, "requests_running": 1.0} | more
    when = NOW + timedelta(seconds=second)
    return CounterSample("r1", when, 1000.0 + second, "vllm.counter", rank, generation_tokens_total=tokens, **counted)


def rows(store: Store, sql: str) -> list[dict[str, Any]]:
    return list(store.query(sql).to_pylist())


def run_rows(store: Store) -> list[dict[str, Any]]:
    return rows(store, "FROM run_samples ORDER BY ts")


def rates(store: Store) -> list[float | None]:
    return [row["decode_tps"] for row in run_rows(store)]


# --- ranks ----------------------------------------------------------------------------------------------------------
def two_ranks(seconds: Iterable[int], without: int | None = None) -> list[CounterSample]:
    """Two ranks of 50 tok/s each; the second is missing from one scrape."""
    return [vllm(s, 50.0 * s, rank) for s in seconds for rank in (0, 1) if (s, rank) != (without, 1)]


def test_rank_missing_in_a_scrape_hides_the_sum(store: Store) -> None:
    save_samples(store, two_ranks(range(6), without=3))
    assert rates(store) == [100, 100, None, 100, 100]
    short, after = run_rows(store)[2:4]
    assert short["reason"] == "ranks_missing missing=1 ranks=2"
    assert short["requests_running"] is None
    assert after["window_s"] == after["covered_s"] == pytest.approx(2)
    [window] = rows(store, "FROM run_windows(100)")
    assert (window["decode_tps"], window["covered_s"], window["activity"]) == (100, 5, "active")


def test_ranks_of_one_scrape_may_differ_in_wall_time(store: Store) -> None:
    """Another tool may stamp each rank as it reads it; the monotonic time is that of the scrape."""
    stamped = [replace(row, ts=row.ts + timedelta(milliseconds=row.engine_index or 0)) for row in two_ranks(range(6))]
    save_samples(store, stamped)
    assert rates(store) == [100] * 5
    assert [(row["window_s"], row["requests_running"]) for row in run_rows(store)] == [(1, 2)] * 5
    [window] = rows(store, "FROM run_windows(100)")
    assert (window["decode_tps"], window["covered_s"]) == (100, 5)


def test_rows_of_another_tool_need_no_rank(store: Store) -> None:
    save_samples(store, [replace(vllm(s, 50.0 * s), engine_index=None) for s in range(4)])
    assert rates(store) == [50, 50, 50]


def test_a_rank_that_says_nothing_is_missing_too(store: Store) -> None:
    blank = CounterSample("r1", NOW + timedelta(seconds=3), 1003.0, "vllm.counter", 1)
    save_samples(store, [*two_ranks(range(6), without=3), blank])
    assert rates(store)[1:4] == [100, None, 100]


def test_rank_missing_at_first_is_not_zero(store: Store) -> None:
    save_samples(store, two_ranks(range(4), without=0))
    assert rates(store) == [None, 100, 100]
    assert run_rows(store)[0]["reason"] == "rank_is_new rank=1"
    assert [row["engine_index"] for row in rows(store, "FROM engine_samples ORDER BY ts, engine_index")] == [
        0, 0, 1, 0, 1,
    ]  # fmt: skip


def test_live_and_whole_agree_on_a_missing_rank(store: Store) -> None:
    save_samples(store, two_ranks(range(100), without=90))
    since = NOW + timedelta(seconds=85)
    rows = list(store.query("FROM run_samples_since(?) ORDER BY ts", [since]).to_pylist())
    assert rows == [row for row in run_rows(store) if row["ts"] > since]


# --- too close ------------------------------------------------------------------------------------------------------
def test_two_looks_2_ms_apart_are_one(store: Store) -> None:
    looks = [vllm(s, 50.0 * s) for s in range(6)]
    save_samples(store, [*looks[:4], vllm(3.002, 158.0), *looks[4:]])
    assert rates(store) == [50] * 5


def test_a_scrape_that_is_stored_twice_counts_once(store: Store) -> None:
    save_samples(store, [look for s in range(6) for look in [vllm(s, 50.0 * s)] * 2])
    assert rates(store) == [50] * 5


def test_who_looks_often_on_purpose_sees_it(store: Store) -> None:
    save_samples(store, [vllm(s / 10, 5.0 * s) for s in range(8)])
    assert rates(store) == [pytest.approx(50)] * 7


def test_two_looks_at_slots_2_ms_apart_are_one(store: Store) -> None:
    def slot(second: float, decoded: int) -> SlotSample:
        return SlotSample("r1", NOW + timedelta(seconds=second), second, 0, 7, True, decoded, None, None)

    save_samples(store, [slot(0, 0), slot(1, 50), slot(1.002, 58), slot(2, 100), slot(3, 150)])
    assert rates(store) == [50] * 3


# --- restarts -------------------------------------------------------------------------------------------------------
def test_a_restart_to_a_higher_value_is_a_reset(store: Store) -> None:
    before = [vllm(s, 50.0 * s, process_start_s=100.0) for s in range(3)]
    after = [vllm(s, 1000.0 + 50.0 * s, process_start_s=900.0) for s in range(3, 6)]
    save_samples(store, [*before, *after])
    assert rates(store) == [50, 50, None, 50, 50]
    assert run_rows(store)[2]["reason"] == "counter_reset"
    [totals] = rows(store, "FROM run_totals")
    assert (totals["decode_tokens"], totals["lost_intervals"]) == (None, 1)


# --- silences -------------------------------------------------------------------------------------------------------
def with_gap(**more: Any) -> list[CounterSample]:
    """50 tok/s for 110 s, of which nobody looked for 105."""
    return [vllm(s, 50.0 * s, **more) for s in (0, 1, 2, 107, 108, 109, 110)]


def test_silence_tokens_count_in_sums_not_rates(store: Store) -> None:
    save_samples(store, with_gap())
    [totals] = rows(store, "FROM run_totals")
    assert (totals["decode_tokens"], totals["decode_s"], totals["mean_decode_tps"]) == (5500, 110, 50)
    assert (totals["unseen_tokens"], totals["unseen_s"], totals["lost_intervals"]) == (5250, 105, 0)
    gap = run_rows(store)[2]
    assert (gap["decode_tps"], gap["activity"], gap["reason"]) == (None, None, "no_answer seconds=105.0")
    found = run_data.windows(store, ["r1"], 2.0)["r1"]
    assert sum(window.tokens or 0 for window in found) == 250


@pytest.mark.parametrize(
    ("kind", "first_tokens", "mean_tps"),
    [
        ("launched", 1.0, 650.0 / 16.0),
        ("launched", 2.0, 50.0),  # a prefill in the gap: not only decoding
        ("attached", 1.0, 50.0),  # not known to be the same server
    ],
)
def test_mean_counts_a_slow_silence_and_typical_does_not(
    store: Store, kind: str, first_tokens: float, mean_tps: float
) -> None:
    """50 tok/s while the server answers, 25 tok/s in the 6 s in which it does not."""
    before = [vllm(0.5 * n, 25.0 * n) for n in range(11)]
    after = [vllm(11.0 + 0.5 * n, 400.0 + 25.0 * n, first_tokens_total=first_tokens) for n in range(11)]
    save_samples(store, [*before, *after], kind=kind)
    summary = summarize(run_data.windows(store, ["r1"], 2.0)["r1"])
    assert summary.factors
    assert (summary.factors.decode_tps, summary.alone.typical_tps) == (pytest.approx(mean_tps), 50.0)
    whole_run = run_data.whole_run_data(store, ["r1"], 2.0)["r1"]
    assert summarize(whole_run.windows) == summary


def test_run_acceptance_includes_silent_drafts(store: Store) -> None:
    def drafting(second: float, drafts: float, accepted: float) -> CounterSample:
        return vllm(second, drafts + accepted, drafts_total=drafts, draft_tokens_total=4 * drafts,
                    accepted_tokens_total=accepted, inter_token_count_total=drafts)  # fmt: skip

    save_samples(store, [drafting(0, 0, 0), drafting(1, 10, 40), drafting(2, 20, 80), drafting(107, 220, 80)], DRAFTING)
    told = run_data.acceptance(store, ["r1"])["r1"]
    assert told.length == pytest.approx(1 + 80 / 220)


@pytest.mark.parametrize(("start", "is_known"), [(None, False), (100.0, True)])
def test_silence_with_likely_restart_not_counted(store: Store, start: float | None, is_known: bool) -> None:
    save_samples(store, with_gap(process_start_s=start), kind="attached")
    [totals] = rows(store, "FROM run_totals")
    assert (totals["decode_tokens"] == 5500, totals["lost_intervals"]) == (is_known, int(not is_known))


# --- contradictions -------------------------------------------------------------------------------------------------
def torn(has_positions: bool) -> list[CounterSample]:
    """Drafts of 4, all accepted: 5 tokens a step, 10 steps a second. One scrape missed some of the steps."""
    looks = []
    for s in range(12):
        steps = 10.0 * s - (5.73 if s == 6 else 0.0)
        drafts = {"drafts_total": steps, "draft_tokens_total": 4 * steps, "accepted_tokens_total": 4 * steps}
        positions = {"accepted_per_pos_total": [steps] * 4} if has_positions else {}
        looks.append(vllm(s, 50.0 * s, inter_token_count_total=steps, first_tokens_total=0.0, **drafts, **positions))
    return looks


@pytest.mark.parametrize(
    ("config", "has_positions"), [(DRAFTING, False), (Config(engine="vllm"), True), (Config(engine="vllm"), False)]
)
def test_a_torn_scrape_is_no_spike(store: Store, config: Config, has_positions: bool) -> None:
    save_samples(store, torn(has_positions), config)
    actual_rows = run_rows(store)
    assert max(row["tokens_per_step"] or 0 for row in actual_rows) == pytest.approx(5)
    assert max(row["decode_tps"] or 0 for row in actual_rows) == pytest.approx(50)
    assert (
        actual_rows[5]["reason"].startswith("too_many_tokens_a_step ")
        or actual_rows[5]["reason"] == "more_tokens_than_steps"
    )
    assert actual_rows[5]["decode_tps"] is actual_rows[5]["activity"] is None
    assert rows(store, "FROM run_totals")[0]["decode_tokens"] == 550


def test_reason_names_the_maximum_of_a_step(store: Store) -> None:
    save_samples(store, torn(has_positions=True), Config(engine="vllm"))
    assert run_rows(store)[5]["reason"] == ("too_many_tokens_a_step tokens=11.7 most=5")


def slot(second: float, decoded: int, calls: float) -> SlotSample:
    return SlotSample("r1", NOW + timedelta(seconds=second), second, 0, 7, True, decoded, None, None, calls)


def test_undrafted_slots_and_calls_must_agree(store: Store) -> None:
    """A starved server answered for its slots and for its calls at unlike moments: 100 against 54, 175 and 110."""
    looks = [slot(0, 1, 0), slot(1, 101, 54), slot(2, 201, 229), slot(3, 301, 339)]
    save_samples(store, looks, Config(engine="llamacpp", argv=("llama-server", "-m", "m.gguf")))
    rows = run_rows(store)
    assert [row["tokens_per_step"] for row in rows] == [None, None, 1.0]
    assert [row["reason"] for row in rows] == [
        "too_many_tokens_a_step tokens=1.9 most=1",
        "more_steps_than_tokens",
        None,
    ]
    assert [row["decode_tps"] for row in rows] == [100.0] * 3


def test_drafted_step_gives_at_least_one_token(store: Store) -> None:
    save_samples(store, [slot(0, 1, 0), slot(1, 51, 10), slot(2, 101, 110)], DRAFTING)
    assert [row["reason"] for row in run_rows(store)] == [None, "more_steps_than_tokens"]


def test_contradictory_slots_and_calls_hide_steps(store: Store) -> None:
    save_samples(store, [slot(0, 0, 0), slot(1, 50, 10), slot(2, 167, 20), slot(3, 200, 40)], DRAFTING)
    rows = run_rows(store)
    assert [row["tokens_per_step"] for row in rows] == [5, None, pytest.approx(33 / 20)]
    assert rows[1]["reason"] == "too_many_tokens_a_step tokens=11.7 most=5"


def test_without_drafts_a_step_gives_one_token(store: Store) -> None:
    """Scrapes that saw the last step of one counter and not of the other: 50 against 51 and 49."""
    steps = [0, 50, 101, 150, 201, 250, 301]
    save_samples(store, [vllm(s, 50.0 * s, inter_token_count_total=float(n)) for s, n in enumerate(steps)])
    assert {row["tokens_per_step"] for row in run_rows(store)} == {1.0}
    assert {window.steps == window.tokens for window in run_data.windows(store, ["r1"], 2.0)["r1"]} == {True}


def test_torn_look_reported_once_without_drafts(store: Store) -> None:
    save_samples(
        store, [vllm(s, 50.0 * s + (40.0 if s == 15 else 0.0), inter_token_count_total=50.0 * s) for s in range(20)]
    )
    rows = run_rows(store)
    assert max(row["tokens_per_step"] or 0 for row in rows) == 1.0
    assert rows[14]["reason"] == "too_many_tokens_a_step tokens=1.8 most=1"


# --- windows --------------------------------------------------------------------------------------------------------
def test_first_tokens_excluded_from_step_ratio(store: Store) -> None:
    """A request begins each second: 50 tokens in 50 steps, of which one is a first token."""
    save_samples(
        store, [vllm(s, 50.0 * s, first_tokens_total=float(s), inter_token_count_total=49.0 * s) for s in range(8)]
    )
    for window in run_data.windows(store, ["r1"], 2.0)["r1"]:
        assert window.tokens == window.steps == pytest.approx(49 * window.dt_s)


def test_tokens_per_step_equals_acceptance_length(store: Store) -> None:
    def drafting(second: int) -> CounterSample:
        steps, accepted, first = 20.0 * second, 41.0 * second, 1.0 * second
        return vllm(second, steps + accepted + first, first_tokens_total=first, inter_token_count_total=steps,
                    drafts_total=steps, draft_tokens_total=4 * steps, accepted_tokens_total=accepted)  # fmt: skip

    save_samples(store, [drafting(s) for s in range(10)], DRAFTING)
    for window in run_data.windows(store, ["r1"], 2.0)["r1"]:
        assert window.tokens and window.steps and window.accepted and window.drafts
        assert window.tokens / window.steps == pytest.approx(1 + window.accepted / window.drafts)


def test_window_length_is_the_look_distance(store: Store) -> None:
    save_samples(store, [vllm(s, 50.0 * s) for s in range(0, 60, 5)])
    found = run_data.windows(store, ["r1"], 2.0)["r1"]
    assert {window.window_s for window in found} == {5.0}
    assert [window.since_ready_s for window in found] == [5.0 * n for n in range(1, 12)]
    assert all(window.is_whole for window in found)


def test_a_window_known_for_a_part_says_so(store: Store) -> None:
    """A reset leaves 0.4 s of the window from 4 to 6 s, in which 98.5 tok/s were counted."""
    looks = [vllm(s, 50.0 * s) for s in range(5)]
    looks += [vllm(5.5, 1.0), vllm(5.9, 40.4), *(vllm(s, 40.4 + 50.0 * (s - 5.9)) for s in range(7, 12))]
    save_samples(store, looks)
    found = run_data.windows(store, ["r1"], 2.0)["r1"]
    assert [(round(w.dt_s, 1), w.is_whole) for w in found if not w.is_whole] == [(0.4, False), (1.0, False)]


@pytest.mark.parametrize(("running", "streams"), [([1, 1, 1], 1), ([4, 4, 4], 4), ([1, 4, 1], None), ([0, 1, 1], None)])
def test_window_has_streams_when_their_count_held(store: Store, running: list[int], streams: int | None) -> None:
    save_samples(store, [vllm(s, 50.0 * s, requests_running=float(n)) for s, n in enumerate(running)])
    assert [window.streams for window in run_data.windows(store, ["r1"], 2.0)["r1"]] == [streams]


# --- no numbers -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e309])
@pytest.mark.wide
def test_what_is_no_number_reaches_no_rate(store: Store, bad: float) -> None:
    looks = [vllm(s, 50.0 * s, kv_usage_ratio=0.1) for s in range(6)]
    looks[3] = replace(looks[3], generation_tokens_total=bad, requests_running=bad, kv_usage_ratio=bad)
    line = LogSample("r1", NOW, 1, 1, "vllm.log", generation_tps=bad, prompt_tps=bad, acceptance_length=bad)
    save_samples(store, [*looks, line])
    numbers = [value for row in rows(store, "FROM engine_samples UNION ALL BY NAME FROM run_windows(2)")
               for value in row.values() if isinstance(value, float)]  # fmt: skip
    assert numbers and all(map(math.isfinite, numbers))
    assert [row["activity"] for row in run_rows(store) if row["source"] == "counter"][2:4] == [None, None]


@pytest.mark.timeout(60)
def test_a_long_run_is_read_on_one_core(store: Store) -> None:
    """With a result that DuckDB streams, this statement never ended: a day of samples on one thread."""
    store.query("SET GLOBAL threads = 1")
    save_samples(store, (vllm(float(s), 50.0 * s) for s in range(30_000)))
    data = run_data.whole_run_data(store, ["r1"], 2.0, with_points=True)["r1"]
    assert len(data.points) == 29_999 and len(data.windows) == 15_000
