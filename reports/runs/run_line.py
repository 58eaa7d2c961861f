"""Numbers of an ended run in the list of runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta

from analysis.metrics.registry import LIST_COLUMNS, LISTED, listed_id
from analysis.runs.printed_speed import printed_fallback
from analysis.runs.run_line import MetricRow, RunLine, ToolStatement
from domain import Run
from reasons import Code, Reason
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_metrics import RunMetrics, highest_output
from reports.runs.run_report import RunReport, report_on
from reports.source_hash import source_hash
from storage.published_query import QUERY_FAILURES
from storage.queries import run_data, run_queries
from storage.queries.load_queries import tool_statements

PENDING = RunLine()  # placeholder while a run's line is computed in the background
NOT_COMPUTED = RunLine(reason=Reason(Code.NOT_COMPUTED))
Reports = Callable[[Sequence[Run]], Iterable[RunReport]]
UNREADABLE_ROWS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # of a formula on odd rows
SETTLED_AFTER = timedelta(seconds=60)  # of the end: the last log lines and requests arrive a little later
log = logging.getLogger(__name__)


def line_version() -> str:
    """Return the version of the code that computes lines; a stored line of another version is computed again."""
    return source_hash(__name__)


def lines_of(
    store: run_data.Queryable, runs: Sequence[Run], reports: Reports | None = None, most: int | None = None
) -> dict[str, RunLine]:
    """Return run id -> line: the stored one, else computed now, from `reports` if given.

    most: how many are computed at most; lines of further runs are PENDING.
    """
    stored = run_queries.cached_lines(store, [run.id for run in runs], line_version()) if runs else {}
    missing = [run for run in runs if run.id not in stored]
    pending = dict.fromkeys((run.id for run in missing[most:]), PENDING) if most is not None else {}
    return stored | compute_each(store, missing[:most], reports) | pending


def compute_lines(store: run_data.Queryable, runs: Sequence[Run], reports: Reports | None = None) -> dict[str, RunLine]:
    """Compute run id -> line, with one query per kind of row for all runs. reports: a source of existing reports."""
    if not runs:
        return {}
    reports_of_runs = list(reports(runs) if reports else report_on(store, runs))
    metrics = metrics_of_runs(store, reports_of_runs)
    statements = tool_statements(store, [run.id for run in runs])
    return {
        report.run.id: _line(report, metrics[report.run.id], statements.get(report.run.id))
        for report in reports_of_runs
    }


def compute_each(store: run_data.Queryable, runs: Sequence[Run], reports: Reports | None = None) -> dict[str, RunLine]:
    """Like compute_lines, but a run that fails, for a broken file or rows, becomes NOT_COMPUTED without the others."""
    try:
        return compute_lines(store, runs, reports)
    except (*QUERY_FAILURES, *UNREADABLE_ROWS) as error:
        if len(runs) > 1:
            return {run.id: compute_each(store, [run], reports)[run.id] for run in runs}
        is_ours = isinstance(error, UNREADABLE_ROWS)  # the traceback tells which formula failed
        words = "The numbers of run %s for the list could not be computed: %s"
        log.warning(words, runs[0].id, first_line(error), exc_info=is_ours)
        return {runs[0].id: NOT_COMPUTED}


def first_line(error: Exception) -> str:
    """Return the first line of an error's message; its type if it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def sort_runs(runs: Sequence[Run], lines: Mapping[str, RunLine], order_by: str, is_reversed: bool = False) -> list[Run]:
    """Return the runs by this number, highest first, imported ones and then unknown ones last; else unchanged.

    is_reversed: lowest first, still with the unknown last.

    The store orders by stored lines; these lines may be of runs that have just ended, or from newer formulas.
    """
    if order_by not in LIST_COLUMNS:
        return list(runs)
    key, sign = LIST_COLUMNS[order_by].key, 1 if is_reversed else -1

    def position(run: Run) -> tuple[bool, bool, float]:
        number = lines[run.id][key] if run.id in lines else None
        return number is None, number is not None and run.kind == "imported", sign * (number or 0.0)

    return sorted(runs, key=position)


def _line(report: RunReport, metrics: RunMetrics, statement: ToolStatement | None) -> RunLine:
    """Return the line with the value of every listed metric."""
    output = highest_output(metrics)
    numbers: dict[str, float | None] = {}
    for metric in LISTED:
        value = metrics.get(listed_id(metric))
        numbers[metric.key] = value.value if value else None
    if output:
        numbers["output_concurrency"], numbers["output_tps"] = output
    known_numbers = {name: value for name, value in numbers.items() if value is not None}
    printed = printed_fallback(report.summary, report.printed)
    return RunLine(known_numbers, report.summary.reason, printed, statement, tuple(_metric_rows(metrics)))


def _metric_rows(metrics: RunMetrics) -> Iterator[MetricRow]:
    for metric, value in metrics.items():
        reason = value.reason.code if value.reason and value.value is None else None
        yield MetricRow(metric.key, metric.concurrency, metric.detail, value.value, reason)
