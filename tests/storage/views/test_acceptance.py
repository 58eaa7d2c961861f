"""Acceptance over a whole run: every draft counts, of one source, and what is not known is told as what it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain import Config, Run
from reasons import Code, Reason
from samples import Batch, CounterSample, LogSample
from storage.queries import run_data
from storage.queries.run_data import Acceptance
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
HALF: dict[str, Any] = {"accepted_tokens": 10.0, "drafted_tokens": 20.0, "acceptance_length": 2.0}
NOTHING: dict[str, Any] = {"accepted_tokens": 0.0, "drafted_tokens": 20.0, "acceptance_length": 1.0}
POSITIONS = [0.7, 0.3]


def line(second: float, engine: str = "vllm", **fields: Any) -> LogSample:
    return LogSample("r1", NOW + timedelta(seconds=second), int(second), int(second), f"{engine}.log", **fields)


def scrape(second: float, drafts: float | None, draft_tokens: float | None, accepted: float) -> CounterSample:
    return CounterSample(
        "r1", NOW + timedelta(seconds=second), second, "vllm.counter",
        generation_tokens_total=50.0 * second, first_tokens_total=1.0, inter_token_count_total=25.0 * second,
        drafts_total=drafts, draft_tokens_total=draft_tokens, accepted_tokens_total=accepted,
    )  # fmt: skip


def acceptance(store: Store, *samples: LogSample | CounterSample) -> Acceptance:
    store.write(Batch(samples))
    store.save_run(Run(id="r1", name="r1", color=0, config=Config(), machine_id="m", created_at=NOW, ready_at=NOW))
    return run_data.acceptance(store, ["r1"])["r1"]


def test_unaccepted_line_counts_its_drafts(store: Store) -> None:
    actual_acceptance = acceptance(
        store, line(10, **HALF, per_position=POSITIONS), line(20, **NOTHING, per_position=[0.0, 0.0])
    )
    assert actual_acceptance == Acceptance(1.5, 0.25, pytest.approx([0.35, 0.15]), "vllm.log")


def test_positions_cover_all_lines_or_are_unknown(store: Store) -> None:
    """30 drafts of which 24 and 12 were accepted, then 10 of which 2 and 1 were."""
    lines = [line(10, accepted_tokens=36.0, drafted_tokens=60.0, acceptance_length=2.2, per_position=[0.8, 0.4])]
    lines += [line(20, accepted_tokens=3.0, drafted_tokens=20.0, acceptance_length=1.3, per_position=[0.2, 0.1])]
    assert acceptance(store, *lines).per_position == pytest.approx([26 / 40, 13 / 40])
    assert acceptance(store, line(30, **HALF)).per_position is None


def test_line_with_length_rounding_to_one_counts(store: Store) -> None:
    fields = {"accepted_tokens": 1.0, "drafted_tokens": 5418.0, "acceptance_length": 1.0}
    actual_acceptance = acceptance(store, line(10, **fields, per_position=[0.001, 0.0, 0.0]))
    assert actual_acceptance.length == pytest.approx(1 + 1 / 1806)


@pytest.mark.parametrize("positions", [[0.0, 0.0], None])
def test_log_without_acceptance_has_length_one(store: Store, positions: list[float] | None) -> None:
    actual_acceptance = acceptance(store, line(10, **NOTHING, per_position=positions))
    assert actual_acceptance == Acceptance(1.0, 0.0, positions, "vllm.log")


def test_per_line_lengths_are_weighed_by_steps(store: Store) -> None:
    """The second line is 4 s of 30 tok/s in 40 steps, the third 2 s of 40 tok/s in 20 steps: 200 tokens, 60 steps."""
    decode = {"kind": "decode", "engine": "sglang"}
    lines = [line(2, generation_tps=1.0, acceptance_length=2.0, acceptance_rate=0.5, **decode)]
    lines += [line(6, generation_tps=30.0, acceptance_length=3.0, acceptance_rate=1.0, **decode)]
    lines += [line(8, generation_tps=40.0, acceptance_length=4.0, acceptance_rate=0.75, **decode)]
    actual_acceptance = acceptance(store, *lines)
    assert actual_acceptance == Acceptance(pytest.approx(200 / 60), pytest.approx(140 / 160), None, "sglang.log")


def test_timeless_lines_are_weighed_by_requests(store: Store) -> None:
    lines = [line(2, "sglang", kind="decode", generation_tps=1.0, acceptance_length=2.0, requests_running=3.0)]
    lines += [replace(lines[0], engine_index=1, offset=3, acceptance_length=4.0, requests_running=1.0)]
    assert acceptance(store, *lines).length == pytest.approx((3 * 2.0 + 4.0) / 4)


def test_a_log_without_a_mean_length_says_so(store: Store) -> None:
    actual_acceptance = acceptance(store, line(10, "llamacpp", accepted_tokens=57.0, drafted_tokens=100.0))
    assert actual_acceptance == Acceptance(None, 0.57, None, "llamacpp.log", Reason(Code.DRAFTS_NOT_LOGGED))


def test_unknown_drafts_in_a_line_hide_the_length(store: Store) -> None:
    actual_acceptance = acceptance(store, line(10, **HALF), line(20, **NOTHING))
    assert actual_acceptance == Acceptance(None, 0.25, None, "vllm.log", Reason(Code.DRAFTS_NOT_LOGGED))


def test_log_with_drafts_beats_empty_counters(store: Store) -> None:
    counters = [scrape(second, 0.0, 0.0, 0.0) for second in (1, 2, 3)]
    actual_acceptance = acceptance(store, *counters, line(10, **HALF))
    assert actual_acceptance == Acceptance(2.0, 0.5, None, "vllm.log")


def test_counters_with_drafts_beat_the_log(store: Store) -> None:
    counters = [scrape(second, 10.0 * second, 30.0 * second, 20.0 * second) for second in (1, 2, 3)]
    actual_acceptance = acceptance(store, *counters, line(10, **HALF))
    assert actual_acceptance == Acceptance(3.0, pytest.approx(2 / 3), None, "vllm.counter")


def test_no_draft_was_made_where_none_was_drafted(store: Store) -> None:
    actual_acceptance = acceptance(store, *(scrape(second, 0.0, 0.0, 0.0) for second in (1, 2, 3)))
    assert actual_acceptance == Acceptance(None, None, None, "vllm.counter", Reason(Code.NO_DRAFT_MADE))


def test_counters_without_draft_count_say_so(store: Store) -> None:
    actual_acceptance = acceptance(store, *(scrape(second, None, 30.0 * second, 20.0 * second) for second in (1, 2, 3)))
    assert actual_acceptance == Acceptance(
        None, pytest.approx(2 / 3), None, "vllm.counter", Reason(Code.DRAFTS_NOT_COUNTED)
    )


def positions(second: float, *accepted: float) -> CounterSample:
    """Four drafts a second, each with as many positions; a server names no position before its first is accepted."""
    told = list(accepted) or None
    return replace(scrape(second, 4.0 * second, 16.0 * second, sum(accepted)), accepted_per_pos_total=told)


def test_late_positions_count_from_zero(store: Store) -> None:
    """As a real llama.cpp's counters go: all of its drafts stand below, and the first accepted ones above."""
    actual_acceptance = acceptance(store, positions(0), positions(1, 4.0, 3.0), positions(2, 6.0, 4.0))
    assert actual_acceptance.length == pytest.approx(1 + 10 / 8)
    assert actual_acceptance.per_position == pytest.approx([6 / 8, 4 / 8])


def test_positions_unknown_with_partial_counts(store: Store) -> None:
    hidden = replace(positions(1, 4.0, 3.0), accepted_per_pos_total=None)
    actual_acceptance = acceptance(store, positions(0), hidden, positions(2, 6.0, 4.0), positions(3, 8.0, 5.0))
    assert actual_acceptance.length == pytest.approx(1 + 13 / 12)
    assert actual_acceptance.per_position is None
