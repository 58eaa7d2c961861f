"""Percentiles of a server's histograms: only what was counted while Pitwall looked, over restarts and ranks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from samples import Batch, LatencySample
from storage.queries.run_data import server_latency
from storage.store import Store

NOW = datetime(2026, 11, 22, tzinfo=UTC)
UPPER = [10.0, 20.0, 40.0]


def look(
    second: int, counts: list[float], sum_ms: float | None, rank: int = 0, upper: list[float] | None = None
) -> Batch:
    moment = NOW + timedelta(seconds=second)
    sample = LatencySample(
        "r", moment, float(second), "vllm.histogram", "ttft_ms", rank, UPPER if upper is None else upper, counts, sum_ms
    )
    return Batch((sample,))


def latency_row(store: Store, *looks: Batch) -> dict[str, object] | None:
    for look in looks:
        store.write(look).result()
    rows = server_latency(store, ["r"])["r"]
    return {name: value for name, value in rows[0].items() if name != "run_id"} if rows else None


def test_counts_before_first_look_are_excluded(store: Store) -> None:
    fields = latency_row(store, look(0, [50, 60, 70, 80], 900.0), look(10, [51, 64, 75, 90], 1200.0))
    assert fields == {
        "definition": "vllm.histogram", "metric": "ttft_ms", "n": 10, "mean_ms": 30.0,
        "p50_from_ms": 20.0, "p50_to_ms": 40.0, "p95_from_ms": 40.0, "p95_to_ms": None,
        "p99_from_ms": 40.0, "p99_to_ms": None,
    }  # fmt: skip


def test_restarted_server_adds_its_new_counts(store: Store) -> None:
    fields = latency_row(
        store, look(0, [0, 0, 0, 0], 0.0), look(10, [4, 4, 4, 4], 20.0), look(20, [0, 1, 1, 1], 15.0),
        look(30, [0, 6, 6, 6], 90.0),
    )  # fmt: skip
    assert fields and (fields["n"], fields["mean_ms"]) == (10, 11.0)
    assert (fields["p50_from_ms"], fields["p50_to_ms"]) == (10.0, 20.0)


def test_the_ranks_are_added(store: Store) -> None:
    looks = [look(second, [n * rank, n, n, n], 10.0 * n, rank) for rank in (0, 1) for second, n in ((0, 0.0), (9, 4.0))]
    fields = latency_row(store, *looks)
    assert fields and (fields["n"], fields["p50_to_ms"], fields["p95_to_ms"]) == (8, 10.0, 20.0)


def test_share_at_exact_bound_lies_below(store: Store) -> None:
    fields = latency_row(store, look(0, [0, 0, 0, 0], 0.0), look(10, [50, 95, 99, 100], 1.0))
    assert fields and [fields[f"{p}_to_ms"] for p in ("p50", "p95", "p99")] == [10.0, 20.0, 40.0]


def test_other_bounds_split_and_larger_one_counts(store: Store) -> None:
    fields = latency_row(
        store, look(0, [0, 0, 0, 0], 0.0), look(9, [1, 1, 1, 1], 5.0), look(20, [7, 8], 40.0, upper=[5.0]),
    )  # fmt: skip
    assert fields and (fields["n"], fields["p50_to_ms"]) == (8, 5.0)


def test_nothing_served_is_nothing_told(store: Store) -> None:
    assert latency_row(store, look(0, [5, 5, 5, 5], 10.0), look(10, [5, 5, 5, 5], 10.0)) is None


def test_mean_needs_sums_of_all_ranks(store: Store) -> None:
    ranks = [look(0, [0, 0, 0, 0], 0.0, rank) for rank in (0, 1)]
    fields = latency_row(store, *ranks, look(9, [4, 4, 4, 4], 20.0, 0), look(9, [4, 4, 4, 4], None, 1))
    assert fields and (fields["n"], fields["mean_ms"]) == (8, None)


def test_shrinking_buckets_mean_another_life(store: Store) -> None:
    fields = latency_row(store, look(0, [0, 0, 0, 0], 0.0), look(10, [4, 4, 4, 4], 20.0), look(20, [0, 5, 6, 6], 90.0))
    assert fields and (fields["n"], fields["mean_ms"], fields["p50_to_ms"]) == (10, 11.0, 20.0)


def test_one_bucket_histogram_gives_only_the_mean(store: Store) -> None:
    fields = latency_row(store, look(0, [0.0], 0.0, upper=[]), look(9, [4.0], 20.0, upper=[]))
    assert fields and (fields["n"], fields["mean_ms"], fields["p50_from_ms"], fields["p50_to_ms"]) == (
        4,
        5.0,
        0.0,
        None,
    )
