"""Metrics of arms: one value per arm and metric, from those of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from analysis.comparison.arms import Arm
from analysis.comparison.starts import group_by_start
from analysis.metrics.definition import Repeats
from analysis.metrics.registry import MetricId, display_order
from analysis.verdict.mean import mean_of
from reports.arms.comparison import ComparisonReport
from reports.runs.run_metrics import NO_VALUE, MetricValue, RunMetrics, objective_of

ArmMetrics = Mapping[str, Mapping[MetricId, MetricValue]]


def arm_metrics(report: ComparisonReport, metrics: Mapping[str, RunMetrics]) -> dict[str, dict[MetricId, MetricValue]]:
    """Return arm id -> its metrics. metrics: run id -> those of its runs.

    The compared objective's value is that of the answers: over the requests that both arms share.
    """
    by_arm = {arm.id: {metric: _value(arm, metric, metrics) for metric in _names(arm, metrics)} for arm in report.arms}
    for answer in report.answers:
        for arm, side in zip(answer.pair.arms, answer.replicates, strict=True):
            values = [replicate.value for replicate in side if replicate.value is not None]
            metric = next((m for m in by_arm[arm.id] if objective_of(m) == report.objective), None)
            if metric and values:
                by_arm[arm.id][metric] = MetricValue(mean_of(values))
    return by_arm


def metric_names(metrics: ArmMetrics) -> list[MetricId]:
    """Return the metrics of any arm in the order of the registry."""
    return sorted(dict.fromkeys(metric for values in metrics.values() for metric in values), key=display_order)


def has_differences(metric: MetricId, metrics: ArmMetrics) -> bool:
    """Whether the arms' values of a metric may be put into a ratio or a difference.

    A rate of all windows together depends on how long each concurrency took, so it says nothing if there are several.
    """
    if not metric.definition.grows_with_concurrency:
        return True
    names = {name for values in metrics.values() for name, reading in values.items() if reading.value is not None}
    return len({name.concurrency for name in names} - {None}) <= 1


def _names(arm: Arm, metrics: Mapping[str, RunMetrics]) -> list[MetricId]:
    return list(dict.fromkeys(metric for run in arm.runs for metric in metrics[run.run_id]))


def _value(arm: Arm, metric: MetricId, metrics: Mapping[str, RunMetrics]) -> MetricValue:
    """Return the value over the arm's starts as the metric's definition states; unknown if no run has one."""
    readings = [metrics[run.run_id].get(metric, NO_VALUE) for run in arm.runs]
    if all(reading.value is None for reading in readings):
        return MetricValue(None, next((reading.reason for reading in readings if reading.reason), None))
    values = {run.run_id: reading.value for run, reading in zip(arm.runs, readings, strict=True)}
    combine = _median if metric.definition.repeats is Repeats.MEDIAN else mean_of
    by_start = [
        combine([value for run in start if (value := values[run.run_id]) is not None])
        for start in group_by_start(arm.runs, lambda run: run.processes)
    ]
    return MetricValue(combine([value for value in by_start if value is not None]))


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None
