"""Numbers and units of metrics as every page, report and card shows them."""

from __future__ import annotations

from analysis.metrics.registry import MetricId
from reports.runs.run_metrics import printed_meaning
from web.theme import three_digits

RATIO_UNIT = "0 to 1"  # shown in per cent


def metric_text(metric: MetricId, value: float | None) -> str:
    """Return the value: three significant digits, a count in full, a share in per cent; a dash if it is unknown."""
    if value is None:
        return three_digits(None)
    if metric.definition.is_count:
        return f"{value:,.0f}"
    return three_digits(100.0 * value if metric.definition.unit == RATIO_UNIT else value)


def metric_unit(metric: MetricId) -> str:
    """Return the unit beside `metric_text`."""
    return "%" if metric.definition.unit == RATIO_UNIT else metric.definition.unit


def meaning_of(metric: MetricId) -> str:
    """Return the definition of a metric as part of a sentence; that of a log's number is as its engine counts."""
    if metric.key == "printed_tps":
        return printed_meaning(metric.detail.strip("()"))
    return metric.definition.definition.removesuffix(".")
