"""Tables for publication: metrics by arm with their differences from the baseline, and grids of lengths.

A difference is the ratio of the arms' values with its 95 % interval if the guard allows a ranking and the starts give
an interval; otherwise it is shown as seen. Differences of accuracies and acceptance rates are in percentage points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analysis.compare_arms import ArmComparison
from analysis.comparison.arms import Arm
from analysis.loads.load_results import STATISTICS
from analysis.metrics.registry import MetricId
from load_records import Result
from reports.arms.accuracy import AccuracyComparison, AccuracyRow
from reports.arms.arm_metrics import ArmMetrics, has_differences, metric_names
from reports.arms.comparison import ComparisonReport, answers_by
from reports.runs.run_metrics import NO_VALUE, objective_of
from storage.queries.load_queries import LoadOutcome

PUBLISHED_KEYS = (
    "prompt_tps", "stream_tps", "output_tps", "request_tps", "ttft_ms", "tpot_ms", "e2e_ms", "mean_decode_tps",
    "typical_tps", "peak_tps", "floor_tps", "tokens_per_step", "acceptance_length", "acceptance_peak",
    "acceptance_rate", "model_load_gib", "gpu_memory_peak_gib", "kv_cache_gib", "kv_cache_tokens",
    "full_context_concurrency", "startup_s", "model_load_s", "compile_s", "engine_init_s", "tokens_per_j",
)  # fmt: skip
PUBLISHED = {key: position for position, key in enumerate(PUBLISHED_KEYS)}
IN_POINTS = ("acceptance_rate",)
GRID_METRICS = ("prompt_tps", "decode_tps", "output_tps", "ttft_ms", "request_tps")


class Difference(NamedTuple):
    """A difference from the baseline: a ratio, or percentage points; `low` and `high` are its 95 % interval."""

    value: float
    is_points: bool = False
    low: float | None = None
    high: float | None = None
    is_ranked: bool = False  # False: as seen, because the guard forbids a ranking or no interval tests it


class PublishedCell(NamedTuple):
    """One arm's value of a row; None: unknown."""

    value: float | None
    difference: Difference | None = None  # None for the baseline
    sd: float | None = None


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """A metric, a task or a point of a grid, with one cell per arm. metric: None for a task or a point."""

    title: str
    unit: str
    cells: tuple[PublishedCell, ...]
    metric: MetricId | None = None


@dataclass(frozen=True, slots=True)
class PublicationTable:
    """A table with one column per arm; the first is the baseline."""

    title: str
    arms: tuple[str, ...]
    rows: tuple[PublishedRow, ...]


def published_tables(
    report: ComparisonReport,
    metrics: ArmMetrics,
    outcomes: Mapping[str, Mapping[str, LoadOutcome]],
    accuracies: Sequence[AccuracyRow],
) -> list[PublicationTable]:
    """Return the table of metrics and qualities, and one table per metric of a grid; without rows there is none.

    outcomes: run id -> load id -> its results. accuracies: those of `accuracy_rows`.
    """
    names = tuple(arm.name for arm in report.arms)
    rows = [*_metric_rows(report, metrics), *_accuracy_rows(report.arms, accuracies)]
    tables = [PublicationTable("Results", names, tuple(rows))] if rows else []
    return tables + [
        PublicationTable(metric, names, grid_rows)
        for metric in GRID_METRICS
        if (grid_rows := tuple(_grid_rows(report.arms, outcomes, metric)))
    ]


def _metric_rows(report: ComparisonReport, metrics: ArmMetrics) -> Iterator[PublishedRow]:
    for metric in sorted(metric_names(metrics), key=lambda metric: PUBLISHED.get(metric.key, 0)):
        values = [metrics[arm.id].get(metric, NO_VALUE).value for arm in report.arms]
        if metric.key not in PUBLISHED or all(value is None for value in values):
            continue
        objective = objective_of(metric)
        answers = answers_by(report, objective) if objective in report.objectives else ()
        by_arm = {answer.pair.contender.id: answer for answer in answers}
        cells = [PublishedCell(values[0])]
        base = values[0] if has_differences(metric, metrics) else None
        for arm, value in zip(report.arms[1:], values[1:], strict=True):
            cells.append(PublishedCell(value, _difference(metric, base, value, by_arm.get(arm.id))))
        yield PublishedRow(metric.title, metric.definition.unit, tuple(cells), metric)


def _difference(
    metric: MetricId, base: float | None, value: float | None, answer: ArmComparison | None
) -> Difference | None:
    """Return the tested ratio of the answer, else that of the two values as seen."""
    if base is None or value is None:
        return None
    if metric.key in IN_POINTS:
        return Difference(100.0 * (value - base), is_points=True)
    judgement = answer.judgement if answer and answer.is_ranked else None
    if judgement and judgement.interval:
        return Difference(judgement.ratio, False, *judgement.interval, is_ranked=True)
    return Difference(value / base) if base > 0 else None


def _accuracy_rows(arms: Sequence[Arm], accuracies: Sequence[AccuracyRow]) -> Iterator[PublishedRow]:
    """Yield one row per task that an arm was scored on, in per cent, with differences in percentage points."""
    for row in accuracies:
        cells = []
        for arm in arms:
            accuracy, comparison = row.accuracies.get(arm.id), row.comparisons.get(arm.id)
            value = None if accuracy is None or accuracy.value is None else 100.0 * accuracy.value
            cells.append(PublishedCell(value, _points(comparison) if comparison else None))
        yield PublishedRow(row.title, "%", tuple(cells))


def _points(comparison: AccuracyComparison) -> Difference:
    """Return the difference of the shared items with its interval; without pairs, that of the accuracies."""
    paired = comparison.difference
    low, high = (paired.low, paired.high) if paired else (None, None)
    return Difference(comparison.points, is_points=True, low=low, high=high, is_ranked=comparison.is_ranked)


def _grid_rows(
    arms: Sequence[Arm], outcomes: Mapping[str, Mapping[str, LoadOutcome]], metric: str
) -> Iterator[PublishedRow]:
    """Yield one row per point of the arms' grids, in the order of their first occurrence: mean and sd."""
    by_arm = [_grid(arm, outcomes, metric) for arm in arms]
    for point in dict.fromkeys(point for cells in by_arm for point in cells):
        results = [cells.get(point, []) for cells in by_arm]
        unit = next(result.unit for arm_results in results for result in arm_results)
        first, *further = map(_pool, results)
        yield PublishedRow(point, unit, (first, *(cell._replace(difference=_ratio(first, cell)) for cell in further)))


def _ratio(first: PublishedCell, cell: PublishedCell) -> Difference | None:
    """Return the ratio of two cells as seen; None if one is unknown."""
    return Difference(cell.value / first.value) if cell.value is not None and first.value else None


def _grid(arm: Arm, outcomes: Mapping[str, Mapping[str, LoadOutcome]], metric: str) -> dict[str, list[Result]]:
    """Return point -> the results of the arm's runs at a grid's point, one per load."""
    points: dict[str, list[Result]] = {}
    for run in arm.runs:
        for outcome in outcomes.get(run.run_id, {}).values():
            by_point: dict[str, Result] = {}
            for statistic in reversed(STATISTICS):
                by_point |= {
                    result.point: result
                    for result in outcome.results
                    if (result.metric, result.statistic) == (metric, statistic)
                    and result.prompt_tokens is not None
                    and result.value is not None
                }
            for point, result in by_point.items():
                points.setdefault(point, []).append(result)
    return points


def _pool(results: Sequence[Result]) -> PublishedCell:
    """Return mean and sd over the values behind the results, of which each knows its own mean, sd and number."""
    values = [result.value for result in results if result.value is not None]
    if not values:
        return PublishedCell(None)
    mean = math.fsum(values) / len(values)
    sds, counts = [result.sd for result in results], [result.n for result in results]
    if len(results) == 1 or None in sds or None in counts:
        return PublishedCell(mean, sd=sds[0] if len(results) == 1 else None)
    within = math.fsum((n - 1) * sd**2 for n, sd in zip(counts, sds, strict=True) if n and sd is not None)
    total = sum(n for n in counts if n)
    mean = math.fsum(n * value for n, value in zip(counts, values, strict=True) if n) / total
    between = math.fsum(n * (value - mean) ** 2 for n, value in zip(counts, values, strict=True) if n)
    return PublishedCell(mean, sd=math.sqrt((within + between) / (total - 1)) if total > 1 else None)
