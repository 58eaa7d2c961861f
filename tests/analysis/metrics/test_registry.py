"""The metric registry is complete, names what computes each number, and its page is fresh."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from analysis.evidence.objectives import ObjectiveKind
from analysis.metrics.definition import Concurrency, RegisteredMetric
from analysis.metrics.registry import BY_OBJECTIVE, LISTED, METRICS, MetricId
from scripts.write_metric_docs import METRICS_PAGE, metrics_page

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_one_function_computes_each_metric(metric: RegisteredMetric) -> None:
    module, _, function = metric.computed_by.partition(":")
    if function:
        assert callable(getattr(importlib.import_module(module), function))
    else:
        assert (ROOT / module).suffix == ".sql" and (ROOT / module).is_file()


def test_keys_and_titles_are_unique() -> None:
    assert len({metric.key for metric in METRICS}) == len(METRICS)
    titles = [MetricId(metric.key).title for metric in METRICS]
    assert len(set(titles)) == len(titles)


def test_each_objective_is_a_metric() -> None:
    """But for the cost, which exists only with the prices of a study's plan."""
    assert set(BY_OBJECTIVE) == set(ObjectiveKind) - {ObjectiveKind.SESSION_COST}


def test_column_titles_shorten_their_metric() -> None:
    for metric in LISTED:
        assert metric.column and metric.column.title.lower().split()[0] in metric.title.lower(), metric.key


def test_title_says_the_concurrency() -> None:
    assert MetricId("output_tps", 4).title == "Output speed, 4 at once"
    assert MetricId("ttft_p95_ms", 1).title == "Time to first token, one at a time, p95"
    assert MetricId("request_tps", 0).title == "Request rate, as they arrive"
    assert MetricId("position_acceptance", detail="2").title == "Accepted up to position 2"
    assert all(metric.concurrency is not Concurrency.EACH for metric in METRICS if metric.key == "stream_tps")


def test_metrics_page_is_fresh() -> None:
    assert METRICS_PAGE.read_text() == metrics_page(), "run .venv/bin/python -m scripts.write_metric_docs"
