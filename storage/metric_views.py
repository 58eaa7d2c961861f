"""The view `metrics` and the comments of `run_reports`, from the metric registry."""

from __future__ import annotations

import json
from pathlib import Path

from analysis.metrics.definition import RegisteredMetric
from analysis.metrics.registry import LISTED, METRICS
from storage.queries.literals import quoted

STORED_METRIC = {  # an entry of the JSON in `run_reports`
    "metric": "VARCHAR",
    "concurrency": "INTEGER",
    "detail": "VARCHAR",
    "value": "DOUBLE",
    "reason": "VARCHAR",
}
COMMENTS = {
    "run_id": "the run",
    "metric": "key of the metric: docs/metrics.md",
    "title": "its title on pages",
    "concurrency": "concurrent requests of which the value tells; 0: as they arrive; null: any, or not applicable",
    "detail": "the draft position, or the definition of a log's speed; empty for other metrics",
    "value": "in the unit; null: unknown, see reason",
    "reason": "code of the reason for an unknown value; null: none is known",
    "unit": "unit of the value",
    "definition": "one sentence",
}
VIEW = Path(__file__).parent / "metric_view.sql"


def metric_views_sql() -> str:
    """SQL that defines the view `metrics` of every registered metric, and comments on it and on `run_reports`."""
    rows = [
        f"({', '.join(map(quoted, (metric.key, metric.title, metric.unit, metric.definition)))})" for metric in METRICS
    ]
    view = VIEW.read_text().format(definitions=", ".join(rows), structure=json.dumps([STORED_METRIC]))
    comments = [f"COMMENT ON COLUMN run_reports.{metric.key} IS {quoted(_comment(metric))};" for metric in LISTED]
    comments += [f"COMMENT ON COLUMN metrics.{name} IS {quoted(text)};" for name, text in COMMENTS.items()]
    return "\n".join([view, *comments])


def _comment(metric: RegisteredMetric) -> str:
    return f"{metric.unit}: {metric.definition}" if metric.unit else metric.definition
