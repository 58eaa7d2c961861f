"""The guard's rows on what happened during a load: slow first requests, a restart, a stall, unlike lengths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import QueueReading
from analysis.guard import CHECKS, GuardRow, RowCode, RowStatus
from tests.analysis.comparison.hand_made import load, mark, pair_of, request, run, streams


def row(code: RowCode, a: RunFacts, b: RunFacts, objective: str = "decode_tps", **fields: Any) -> GuardRow:
    return CHECKS[code](pair_of([a], [b], objective, **fields))


def rounds(name: str, first_ms: float, count: int = 4) -> RunFacts:
    """The same request so many times, the first with another decode time than the later ones' 900 ms."""
    first = request(0, decode_ms=first_ms, prompt_hash="p")
    return run(name, load([first, *(request(n, float(n), prompt_hash="p") for n in range(1, count))]))


@pytest.mark.parametrize(
    ("first_ms", "fields", "standing"),
    [
        (900.0, {}, RowStatus.SAME),
        (1080.0, {}, RowStatus.SAME),  # 1.2 times as long is not yet slow
        (1090.0, {}, RowStatus.MATTERS),
        (1800.0, {"is_claimed": True, "ratio": 0.8}, RowStatus.MATTERS),  # 1.25 times as long in the mean
        (1800.0, {"is_claimed": True, "ratio": 0.63}, RowStatus.SAME),  # less than half of the difference
        (1800.0, {"is_claimed": True, "ratio": 1.2}, RowStatus.SAME),  # the faster arm was the cold one
        (1090.0, {"margin": 0.06}, RowStatus.SAME),
    ],
)
def test_slow_first_round(first_ms: float, fields: dict[str, Any], standing: RowStatus) -> None:
    actual_row = row(RowCode.WARMUP, rounds("a", 900.0), rounds("b", first_ms), **fields)
    assert actual_row.status is standing
    if standing is RowStatus.MATTERS:
        assert actual_row.values["slowness"] == pytest.approx((1.0, first_ms / 900))


def test_one_slow_start_is_noise() -> None:
    warm, cold = rounds("b", 900.0), rounds("c", 1800.0)
    assert CHECKS[RowCode.WARMUP](pair_of([rounds("a", 900.0)], [warm, cold])).status is RowStatus.SAME
    assert CHECKS[RowCode.WARMUP](pair_of([rounds("a", 900.0)], [cold, cold])).status is RowStatus.MATTERS


def test_each_stream_has_a_first_request() -> None:
    slow = [replace(r, decode_ms=1800.0) if (r.sequence or 0) < 2 else r for r in streams(4, 2, prompt_hash="p")]
    sides = [run("a", load(streams(4, 2, prompt_hash="p"))), run("b", load(slow))]
    actual_row = row(RowCode.WARMUP, *sides, "output_tps@2")
    assert actual_row.status is RowStatus.MATTERS and actual_row.values["slowness"] == pytest.approx((1.0, 2.0))
    assert row(RowCode.WARMUP, *sides, "decode_tps").status is RowStatus.SAME, "of one stream there are none"


def test_texts_sent_once_are_compared_by_size() -> None:
    fields = [{"sampling": {"max_tokens": 10}, "decode_ms": 1800.0 if n == 0 else 900.0} for n in range(4)]
    cold = run("b", load([request(n, float(n), **values) for n, values in enumerate(fields)]))
    warm = run("a", load([request(n, float(n), sampling={"max_tokens": 10}) for n in range(4)]))
    assert row(RowCode.WARMUP, warm, cold).status is RowStatus.MATTERS
    unlike = [request(n, float(n), sampling={"max_tokens": 10 + n}, decode_ms=900.0 * (2 - n)) for n in range(2)]
    assert row(RowCode.WARMUP, warm, run("b", load(unlike))).status is RowStatus.SAME, "no size was sent twice"


def test_fallen_counters_are_a_restart() -> None:
    whole = run("a", load(streams(2), [mark(0, 5.0), mark(1, 25.0)]))
    fallen = run("b", load(streams(2), [mark(1, 3.0), mark(0, 5.0)]))
    assert row(RowCode.RESTARTS, whole, whole).status is RowStatus.SAME
    actual_row = row(RowCode.RESTARTS, whole, fallen)
    assert (actual_row.status, actual_row.values) == (RowStatus.MATTERS, {"runs": ["b"]})
    ranks = run("b", load(streams(2), [mark(0, 9.0), mark(0, 5.0, rank=1), mark(1, 9.0), mark(1, 6.0, rank=1)]))
    assert row(RowCode.RESTARTS, whole, ranks).status is RowStatus.SAME
    assert row(RowCode.RESTARTS, whole, run("b", load(streams(2)))).status is RowStatus.UNKNOWN


def test_another_process_start_is_a_restart() -> None:
    def run_with_queue(*starts_s: float | None) -> RunFacts:
        readings = tuple(QueueReading(1, float(n), 1.0, 0.0, start_s) for n, start_s in enumerate(starts_s))
        return run("b", replace(load(streams(2)), queue=readings))

    calm = run_with_queue(100.0, 100.0)
    assert row(RowCode.RESTARTS, calm, run_with_queue(100.0, None, 100.0)).status is RowStatus.SAME
    assert row(RowCode.RESTARTS, calm, run_with_queue(100.0, 107.5)).status is RowStatus.MATTERS


def test_stalled_requests_are_told() -> None:
    def waiting(first_s: float, common_s: float = 0.1, concurrency: int = 1) -> RunFacts:
        waits = [first_s, *[common_s] * 4]
        return run("b", load([request(n, float(n), concurrency, ttft_ms=1000 * wait) for n, wait in enumerate(waits)]))

    calm = waiting(0.1)
    actual_row = row(RowCode.STALLS, calm, waiting(20.0))
    assert (actual_row.status, actual_row.values["stalled_s"]) == (RowStatus.TOLD, (0.0, 20.0))
    assert row(RowCode.STALLS, waiting(20.0), calm).status is RowStatus.TOLD
    for common in (waiting(5.0), waiting(20.0, 2.0), waiting(20.0, concurrency=0)):
        assert row(RowCode.STALLS, calm, common).status is RowStatus.SAME


def answers(tokens: int, first_ms: float = 500.0) -> RunFacts:
    """Answers of so many tokens, 10 ms each after the first."""
    decode_ms = 10.0 * (tokens - 1)
    fields = {"ttft_ms": first_ms, "decode_ms": decode_ms, "total_ms": first_ms + decode_ms}
    return run("b", load([request(n, float(n), completion_tokens=tokens, **fields) for n in range(4)]))


@pytest.mark.parametrize(
    ("objective", "tokens", "fields", "standing"),
    [
        ("output_tps@1", (100, 70), {"is_claimed": True, "ratio": 0.87}, RowStatus.MATTERS),
        ("output_tps@1", (100, 70), {"is_claimed": True, "ratio": 0.6}, RowStatus.TOLD),
        ("output_tps@1", (100, 70), {"is_claimed": True, "ratio": 1.2}, RowStatus.TOLD),  # in spite of them
        ("output_tps@1", (70, 100), {"is_claimed": True, "ratio": 1.2}, RowStatus.MATTERS),
        ("output_tps@1", (100, 70), {}, RowStatus.MATTERS),  # they may hide a difference
        ("output_tps@1", (100, 97), {}, RowStatus.TOLD),
        ("e2e_ms@1", (100, 80), {"is_claimed": True, "ratio": 0.87}, RowStatus.MATTERS),
        ("e2e_ms@1", (100, 80), {"is_claimed": True, "ratio": 0.5}, RowStatus.TOLD),
        ("request_tps@1", (100, 80), {"is_claimed": True, "ratio": 1.14}, RowStatus.MATTERS),  # shorter: more of them
        ("request_tps@1", (100, 80), {"is_claimed": True, "ratio": 0.8}, RowStatus.TOLD),
        ("prompt_tps@1", (100, 70), {"is_claimed": True, "ratio": 0.87}, RowStatus.TOLD),
        ("decode_tps", (100, 70), {"is_claimed": True, "ratio": 0.87}, RowStatus.TOLD),
        ("ttft_ms@1", (100, 70), {"is_claimed": True, "ratio": 0.87}, RowStatus.TOLD),
    ],
)
def test_what_lengths_explain(
    objective: str, tokens: tuple[int, int], fields: dict[str, Any], standing: RowStatus
) -> None:
    actual_row = row(RowCode.LENGTHS, answers(tokens[0]), answers(tokens[1]), objective, **fields)
    assert actual_row.status is standing, actual_row.values


def test_length_effect_is_that_of_the_pace() -> None:
    """100 tokens in 0.5 + 1 s, 70 in 0.5 + 0.7 s: 66.7 against 58.3 tok/s."""
    actual_row = row(RowCode.LENGTHS, answers(100), answers(70), "output_tps@1")
    assert actual_row.values["explains"] == pytest.approx((70 / 1.2) / (100 / 1.5))
    slower = row(RowCode.LENGTHS, answers(100, 100.0), answers(70), "output_tps@1")
    assert slower.values["explains"] == pytest.approx((70 / 1.2) / (100 / 1.5)), "the arm on which they matter more"
