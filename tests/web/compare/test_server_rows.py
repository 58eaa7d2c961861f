"""Latencies by the servers' own histograms on Compare: a row a definition, bounds and never a number between them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from web.compare.server_rows import latency_rows
from web.theme import DASH


def arm(*run_ids: str) -> Any:
    return SimpleNamespace(runs=[SimpleNamespace(run_id=run_id) for run_id in run_ids])


def row(
    definition: str, metric: str, n: int, mean_ms: float | None, low: float = 0.0, high: float | None = 10.0
) -> dict[str, Any]:
    places = {f"{p}_{end}": value for p in ("p50", "p95", "p99") for end, value in (("from_ms", low), ("to_ms", high))}
    return {"definition": definition, "metric": metric, "n": n, "mean_ms": mean_ms, **places}


def test_two_definitions_are_two_rows() -> None:
    fields = {"a": [row("vllm.histogram", "itl_ms", 10, 20.0)], "b": [row("sglang.histogram", "itl_ms", 10, 5.0)]}
    rows = latency_rows([arm("a"), arm("b")], fields)
    means = [row for row in rows if "mean" in row[0]]
    assert [(mean[1:], "vllm" in mean[0]) for mean in means] == [([DASH, "5.00"], False), (["20.0", DASH], True)]
    assert len(rows) == 8, "a mean and three percentiles each"


def test_repeats_have_overall_mean_widest_bounds() -> None:
    fields = {"a": [row("d", "ttft_ms", 30, 10.0, 0.0, 20.0)], "b": [row("d", "ttft_ms", 10, 50.0, 20.0, 40.0)]}
    mean, p50, *_ = latency_rows([arm("a", "b")], fields)
    assert (mean[1], p50[1]) == ("20.0", "up to 40.0")
    fields["b"] = [row("d", "ttft_ms", 10, None, 20.0, None)]
    mean, p50, *_ = latency_rows([arm("a", "b")], fields)
    assert (mean[1], p50[1]) == (DASH, DASH)


def test_without_histograms_there_is_no_row() -> None:
    assert latency_rows([arm("a")], {"a": []}) == []
