"""The table of all numbers: a ratio is coloured only if its interval lies beyond the margin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from analysis.metrics.registry import MetricId
from reports.runs.run_metrics import MetricValue
from web.compare.answer.metric_table import Interval, TableColumns, metric_sections


def metric_markup(metric: MetricId, interval: Interval | None, ratio: float = 1.08) -> str:
    arms: Any = [SimpleNamespace(id=arm_id, name=arm_id) for arm_id in ("first", "second")]
    columns = TableColumns(arms, lambda objective: {"second": interval}, {"first": 0, "second": 1}, 0.03)
    values = {"first": {metric: MetricValue(100.0)}, "second": {metric: MetricValue(100.0 * ratio)}}
    return metric_sections(columns, values)


@pytest.mark.parametrize(
    ("key", "interval", "ratio", "css_class"),
    [
        ("stream_tps", (1.04, 1.12), 1.08, "pw-better"),
        ("stream_tps", (0.88, 0.96), 0.92, "pw-worse"),
        ("startup_s", (0.88, 0.96), 0.92, "pw-better"),
        ("stream_tps", (1.02, 1.14), 1.08, None),  # reaches into the margin
        ("stream_tps", (0.98, 1.19), 1.08, None),
        ("stream_tps", None, 1.08, None),
    ],
)
def test_only_a_certain_ratio_is_coloured(
    key: str, interval: Interval | None, ratio: float, css_class: str | None
) -> None:
    table = metric_markup(MetricId(key), interval, ratio)
    assert f"{ratio:.2f}\u00d7" in table
    colored = [name for name in ("pw-better", "pw-worse") if name in table]
    assert colored == ([css_class] if css_class else []) and ("\u25b2" in table or "\u25bc" in table) == bool(css_class)


def test_sections_of_which_nothing_is_known_are_one() -> None:
    known, unknown = MetricId("stream_tps"), [MetricId("acceptance_length"), MetricId("startup_s")]
    arms: Any = [SimpleNamespace(id=arm_id, name=arm_id) for arm_id in ("first", "second")]
    columns = TableColumns(arms, lambda objective: {}, {"first": 0, "second": 1}, 0.03)
    values = {
        "first": {known: MetricValue(100.0), **dict.fromkeys(unknown, MetricValue(None))},
        "second": dict.fromkeys([known, *unknown], MetricValue(None)),
    }
    table = metric_sections(columns, values)
    assert table.count("<details") == 2 and "<summary>Not known: Speculation, Start-up</summary>" in table
    assert '<p class="pw-unknown">Speculation: Acceptance length.</p>' in table
    assert "Not known: " not in metric_sections(columns, {arm_id: {known: MetricValue(1.0)} for arm_id in values})
