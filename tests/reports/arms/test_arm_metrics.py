"""Metrics of arms: which of them may be put into a ratio."""

from __future__ import annotations

import pytest

from analysis.metrics.registry import MetricId
from reports.arms.arm_metrics import has_differences
from reports.runs.run_metrics import MetricValue

MEAN = MetricId("mean_decode_tps")


@pytest.mark.parametrize(
    ("concurrencies", "expected"), [((1,), True), ((1, 4), False), ((), True)], ids=["one", "several", "unknown"]
)
def test_rate_of_all_windows_has_no_ratio_among_several_concurrencies(
    concurrencies: tuple[int, ...], expected: bool
) -> None:
    """Arms with equal pace at 1 and at 4 differ in the share of the seconds that each took."""
    values = {MetricId("output_tps", concurrency): MetricValue(100.0) for concurrency in concurrencies}
    metrics = {"a": {MEAN: MetricValue(169.0), **values}, "b": {MEAN: MetricValue(275.0)}}
    assert has_differences(MEAN, metrics) is expected
    assert has_differences(MetricId("tokens_per_step"), metrics)
