"""The view `metrics` and the comments of `run_reports`, from the metric registry."""

from __future__ import annotations

from pathlib import Path

from analysis.metrics.definition import Concurrency, RegisteredMetric
from analysis.metrics.registry import LISTED
from storage.queries.literals import quoted

COMMENTS = {
    "run_id": "the run",
    "metric": "key of the metric: docs/metrics.md",
    "title": "its title on pages",
    "concurrency": "concurrent requests of which the value tells; 0: as they arrive; null: any",
    "value": "in the unit; a metric whose value is unknown has no row",
    "unit": "unit of the value",
    "definition": "one sentence",
}
VIEW = Path(__file__).parent / "metric_view.sql"
OF_OUTPUT = ("output_tps", "output_concurrency")
ALONE_KEYS = [
    metric.key
    for metric in LISTED
    if metric.concurrency in (Concurrency.ALONE, Concurrency.EACH) and metric.key not in OF_OUTPUT
]


def metric_views_sql() -> str:
    """SQL that defines the view `metrics`, one row per run and listed metric, and comments on both views."""
    rows = [
        f"({', '.join(map(quoted, (metric.key, metric.title, metric.unit, metric.definition)))})" for metric in LISTED
    ]
    view = VIEW.read_text().format(
        definitions=", ".join(rows),
        keys=", ".join(metric.key for metric in LISTED if metric.key != "output_concurrency"),
        alone=", ".join(map(quoted, ALONE_KEYS)),
    )
    comments = [f"COMMENT ON COLUMN run_reports.{metric.key} IS {quoted(_comment(metric))};" for metric in LISTED]
    comments += [f"COMMENT ON COLUMN metrics.{name} IS {quoted(text)};" for name, text in COMMENTS.items()]
    return "\n".join([view, *comments])


def _comment(metric: RegisteredMetric) -> str:
    return f"{metric.unit}: {metric.definition}" if metric.unit else metric.definition
