"""The query behind each chart of Explore: one SELECT over the views, which the SQL page can run as well.

Unless there are too many runs, it selects them by their ids and reads no rows of other runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from analysis.metrics.registry import BY_KEY, LISTED
from storage.queries.literals import as_name, quoted
from storage.queries.run_data import Queryable
from storage.queries.run_fields import FIELDS, NOT_STATED
from storage.queries.run_queries import STARTED_SQL as STARTED_AT
from storage.queries.run_queries import RunFilter, filtered_runs_sql
from storage.queries.statements import statement

MOST_ROWS = 5_000
MOST_IDS = 1_000  # each row is compared with each id: with more ids, reading all rows is cheaper
LINE, STARTUP, RESULT, RUN = "line", "startup", "result", "run"
RESULTS = "results"  # prefix of the names of result metrics


class Metric(NamedTuple):
    """A number of a run, or of each point of its loads; `source` is the relation with its column `column`."""

    title: str
    source: str
    column: str
    statistic: str = ""  # only for results

    @property
    def is_result(self) -> bool:
        return self.source == RESULT


STARTUP_AXES = {  # name in addresses -> metric and column of the view `startup`
    "weights": "model_load_gib",
    "load_s": "model_load_s",
    "kv_gib": "kv_cache_gib",
    "kv_tokens": "kv_cache_tokens",
    "full_context": "full_context_concurrency",
    "compile_s": "compile_s",
    "graph_s": "graph_capture_s",
    "graph_gib": "graph_capture_gib",
}
METRICS: Mapping[str, Metric] = {
    **{metric.column.name: Metric(metric.title_with_unit, LINE, metric.key) for metric in LISTED if metric.column},
    "ready": Metric(BY_KEY["startup_s"].title_with_unit, RUN, "startup_s"),
    **{name: Metric(BY_KEY[key].title_with_unit, STARTUP, key) for name, key in STARTUP_AXES.items()},
}
# Fields of a load point: available only if a result metric is plotted.
POINT_FIELDS: Mapping[str, tuple[str, str]] = {
    "concurrency": ("Requests at once", "concurrency"),
    "prompt": ("Prompt, tokens", "prompt_tokens"),
    "answer": ("Answer, tokens", "output_tokens"),
    "depth": ("Context before the prompt, tokens", "depth_tokens"),
    "point": ("Point of the load", "point"),
}


class _RowSources(NamedTuple):
    """The relations that a chart reads; empty `runs`: the result of the filter."""

    runs: str
    lines: str
    startup: str
    results: str


ALL_RUNS = _RowSources("", "run_reports", "startup", "results")
GIVEN_RUNS = _RowSources(
    "(SELECT runs.*, n.tags FROM runs LEFT JOIN run_notes_of($run_ids) n USING (run_id)"
    " WHERE list_contains($run_ids, run_id)) r",
    "(FROM run_reports WHERE list_contains($run_ids, run_id))",
    "startup_of($run_ids) startup",
    "results_of($run_ids)",
)
ARM = "arm"  # in SQL the run's name; the chart replaces it with the arm
STARTED = "started"


@dataclass(frozen=True, slots=True)
class View:
    """A chart: `y` is a metric; `x` a metric, field or point field; `color` and `facet` a field, '' for none."""

    y: str
    x: str
    color: str = ""
    facet: str = ""


def result_metrics(store: Queryable, run_ids: Sequence[str] | None, selected: Sequence[str] = ()) -> dict[str, Metric]:
    """Return the result metrics of these runs as 'results.<metric>.<statistic>'; None: of all runs.

    `selected` metrics that none of these runs has are included if another run has them; only then all are read.
    """
    metrics = _result_metrics(store, run_ids)
    if run_ids is None or all(name in metrics for name in selected if name.startswith(f"{RESULTS}.")):
        return metrics
    all_metrics = _result_metrics(store, None)
    return {name: metric for name, metric in all_metrics.items() if name in metrics or name in selected}


def _result_metrics(store: Queryable, run_ids: Sequence[str] | None) -> dict[str, Metric]:
    ids = None if run_ids is None else list(run_ids)
    rows = store.query(statement("result_metrics"), {"run_ids": ids}).to_pylist()
    return {
        f"{RESULTS}.{row['metric']}.{row['statistic']}": Metric(
            f"{row['metric']}, {row['statistic']}, {row['unit']}", RESULT, row["metric"], row["statistic"]
        )
        for row in rows
    }


def matching_ids(store: Queryable, run_filter: RunFilter) -> list[str] | None:
    """Return the ids of the runs that pass the filter; None if there are more than MOST_IDS."""
    sql = f"SELECT run_id FROM {filtered_runs_sql(run_filter)} LIMIT {MOST_IDS + 1}"
    ids: list[str] = store.query(sql)["run_id"].to_pylist()
    return ids if len(ids) <= MOST_IDS else None


def explore_sql(run_filter: RunFilter, view: View, metrics: Mapping[str, Metric], by_ids: bool = False) -> str:
    """SQL with one row per run or load point: run_id, name, x, y, color, point, and facet if selected.

    Returns at most MOST_ROWS rows, of the runs started last; each row has the total number of points and runs.
    by_ids: select the runs $run_ids instead of those that pass the filter.
    """
    columns = [f"{_column(name, view, metrics)} AS {alias}" for alias, name in (("x", view.x), ("y", view.y))]
    columns += [f"{_column(view.color, view, metrics) if view.color else 'NULL'} AS color"]
    join = _point_join(view, metrics)
    columns += [f"{join}.point AS point" if join else "NULL AS point"]
    columns += [f"{_column(view.facet, view, metrics)} AS facet"] if view.facet else []
    return "\n".join(
        [
            "WITH points AS MATERIALIZED (",
            f"SELECT r.run_id, r.name, {STARTED_AT} AS started_at, {', '.join(columns)}",
            *_from_clause(run_filter, view, metrics, by_ids),
            ")",
            "SELECT points.*, of_points, of_runs",
            "FROM points, (SELECT count(*) AS of_points, count(DISTINCT run_id) AS of_runs FROM points)",
            f"ORDER BY started_at DESC, run_id DESC, point, x, y LIMIT {MOST_ROWS}",
        ]
    )


def drawn_value_counts(
    store: Queryable, run_filter: RunFilter, view: View, metrics: Mapping[str, Metric], run_ids: Sequence[str] | None
) -> dict[str, int]:
    """Return how many values each field of FIELDS has among the points that have both `x` and `y`."""
    counts = [
        f"count(DISTINCT coalesce(({_column(name, view, metrics)})::VARCHAR, '')) AS {as_name(name)}" for name in FIELDS
    ]
    drawn = " AND ".join(f"({_column(name, view, metrics)}) IS NOT NULL" for name in (view.x, view.y))
    clause = [*_from_clause(run_filter, view, metrics, run_ids is not None), f"WHERE {drawn}"]
    sql = "\n".join([f"SELECT {', '.join(counts)}", *clause])
    (row,) = store.query(sql, None if run_ids is None else {"run_ids": list(run_ids)}).to_pylist()
    return dict(row)


def _from_clause(run_filter: RunFilter, view: View, metrics: Mapping[str, Metric], by_ids: bool) -> list[str]:
    """The FROM and its joins; by_ids: of the runs $run_ids instead of those that pass the filter."""
    sources = GIVEN_RUNS if by_ids else ALL_RUNS
    plotted = [metrics[key] for key in (view.y, view.x) if key in metrics]
    return [
        f"FROM {sources.runs or filtered_runs_sql(run_filter)}",
        *([f"LEFT JOIN {sources.lines} line USING (run_id)"] if _has(LINE, plotted) else []),
        *([f"LEFT JOIN {sources.startup} ON startup.run_id = r.run_id"] if _has(STARTUP, plotted) else []),
        *_result_joins(view, metrics, sources),
    ]


def read_view(store: Queryable, sql: str, run_ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a chart, ordered by run id; numbers that are not finite become None.

    run_ids: for SQL built with `by_ids`.
    """
    stored = store.query(sql, None if run_ids is None else {"run_ids": list(run_ids)}).to_pylist()
    rows = sorted(stored, key=lambda row: row["run_id"])  # stable: the points keep their order
    return [{name: _finite(value) for name, value in row.items()} for row in rows]


def _has(source: str, metrics: Sequence[Metric]) -> bool:
    return any(metric.source == source for metric in metrics)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _point_join(view: View, metrics: Mapping[str, Metric]) -> str | None:
    """The alias of the join with the point fields; None if no result metric is plotted."""
    return next((f"{axis}_of" for axis in ("y", "x") if _is_result(getattr(view, axis), metrics)), None)


def _is_result(name: str, metrics: Mapping[str, Metric]) -> bool:
    return name in metrics and metrics[name].is_result


def _column(name: str, view: View, metrics: Mapping[str, Metric]) -> str:
    if name in metrics:
        metric = metrics[name]
        if metric.is_result:
            return f"{'y' if name == view.y else 'x'}_of.value"
        return f"{ {LINE: 'line', STARTUP: 'startup', RUN: 'r'}[metric.source] }.{metric.column}"
    if name in POINT_FIELDS:
        join = _point_join(view, metrics)
        return f"{join}.{POINT_FIELDS[name][1]}" if join else "NULL"
    if name == ARM:
        return r"regexp_replace(r.name, ' #\d+$', '')"
    if name == STARTED:
        return STARTED_AT
    field = FIELDS[name]
    sql = f"array_to_string({field.sql}, ', ')" if field.is_list else field.sql
    return sql if field.is_number else f"coalesce(nullif({sql}, ''), {quoted(NOT_STATED)})"


def _result_joins(view: View, metrics: Mapping[str, Metric], source: _RowSources) -> list[str]:
    """The joins of result metrics; two of them are joined at the same point of the same load."""
    names = [axis for axis in ("y", "x") if _is_result(getattr(view, axis), metrics)]
    if len(names) == 2 and view.x == view.y:
        names = ["y"]
    joins = []
    for index, axis in enumerate(names):
        metric = metrics[getattr(view, axis)]
        same = " AND x_of.load_id = y_of.load_id AND x_of.point = y_of.point" if index else ""
        joins.append(
            f"LEFT JOIN {source.results} {axis}_of ON {axis}_of.run_id = r.run_id{same}\n"
            f"    AND {axis}_of.metric = {quoted(metric.column)} AND {axis}_of.statistic = {quoted(metric.statistic)}"
        )
    return joins
