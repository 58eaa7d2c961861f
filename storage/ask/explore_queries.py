"""The question behind each view of Explore: one SELECT over the views, which the SQL page can ask as well.

It is asked of the runs that are shown, by their ids, where these are not too many: so it reads no row of another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from storage.ask.literals import quoted
from storage.ask.queries import Asked
from storage.ask.run_fields import FIELDS, NOT_STATED
from storage.ask.run_queries import STARTED as STARTED_AT
from storage.ask.run_queries import RunFilter, runs_found
from storage.ask.statements import statement

MOST_ROWS = 5_000
MOST_IDS = 1_000  # each row is held against each id: with more of them all rows cost less
LINE, STARTUP, RESULT, RUN = "line", "startup", "result", "run"
RESULTS = "results"  # how the names of such metrics begin


class Metric(NamedTuple):
    """A number of a run, or of each point of its loads; `source` is where its column `column` stands."""

    title: str
    source: str
    column: str
    statistic: str = ""  # of a result

    @property
    def is_result(self) -> bool:
        return self.source == RESULT


METRICS: Mapping[str, Metric] = {
    "stream": Metric("Stream, tok/s", LINE, "stream_tps"),
    "output": Metric("Output, tok/s", LINE, "output_tps"),
    "typical": Metric("Typical, tok/s", LINE, "typical_tps"),
    "peak": Metric("Peak, tok/s", LINE, "peak_tps"),
    "tokens_per_step": Metric("Tokens per step", LINE, "tokens_per_step"),
    "acceptance": Metric("Acceptance length", LINE, "acceptance_length"),
    "acceptance_rate": Metric("Acceptance rate, 0 to 1", LINE, "acceptance_rate"),
    "preemptions": Metric("Preemptions", LINE, "preemptions"),
    "kv_peak": Metric("Peak use of the KV cache, 0 to 1", LINE, "kv_usage_peak_ratio"),
    "gpu_memory": Metric("Peak GPU memory, GiB", LINE, "gpu_memory_peak_gib"),
    "power": Metric("GPU power under load, W", LINE, "gpu_power_w"),
    "per_joule": Metric("Tokens per joule", LINE, "tokens_per_j"),
    "server_cores": Metric("CPU of the server under load, cores", LINE, "server_cores"),
    "host_busy": Metric("CPU of the host under load, 0 to 1", LINE, "host_busy_ratio"),
    "ready": Metric("Time to ready, s", RUN, "time_to_ready_s"),
    "weights": Metric("Weights, GiB", STARTUP, "model_load_gib"),
    "load_s": Metric("Loading the weights, s", STARTUP, "model_load_s"),
    "kv_gib": Metric("KV cache, GiB", STARTUP, "kv_cache_gib"),
    "kv_tokens": Metric("KV cache, tokens", STARTUP, "kv_cache_tokens"),
    "full_context": Metric("Requests of full context that fit", STARTUP, "full_context_concurrency"),
    "compile_s": Metric("Compilation, s", STARTUP, "compile_s"),
    "graph_s": Metric("Graph capture, s", STARTUP, "graph_capture_s"),
    "graph_gib": Metric("Graphs, GiB", STARTUP, "graph_capture_gib"),
}
# Of a point of a load: only where a metric of results is drawn.
POINT_FIELDS: Mapping[str, tuple[str, str]] = {
    "concurrency": ("Requests at once", "concurrency"),
    "prompt": ("Prompt, tokens", "prompt_tokens"),
    "answer": ("Answer, tokens", "output_tokens"),
    "depth": ("Context before the prompt, tokens", "depth_tokens"),
    "point": ("Point of the load", "point"),
}


class _Source(NamedTuple):
    """What a view's rows are read from; `runs` '': what the filter finds."""

    runs: str
    lines: str
    startup: str
    results: str


OF_ALL = _Source("", "run_reports", "startup", "results")
OF_IDS = _Source(
    "(SELECT runs.*, n.tags FROM runs LEFT JOIN run_notes_of($run_ids) n USING (run_id)"
    " WHERE list_contains($run_ids, run_id)) r",
    "(FROM run_reports WHERE list_contains($run_ids, run_id))",
    "startup_of($run_ids) startup",
    "results_of($run_ids)",
)
ARM = "arm"  # SQL knows the name alone; who draws puts the arm in its place
STARTED = "started"


@dataclass(frozen=True, slots=True)
class View:
    """What is drawn: `y` a metric; `x` also a field or one of a point; `color` and `facet` a field, '' for none."""

    y: str
    x: str
    color: str = ""
    facet: str = ""


def result_metrics(store: Asked, run_ids: Sequence[str] | None, chosen: Sequence[str] = ()) -> dict[str, Metric]:
    """What the loads of these runs have measured, as 'results.<metric>.<statistic>'; None: of all runs.

    Those `chosen` that no run of these has are there too where another has them: only then all results are read.
    """
    found = _result_metrics(store, run_ids)
    if run_ids is None or all(name in found for name in chosen if name.startswith(f"{RESULTS}.")):
        return found
    of_all = _result_metrics(store, None)
    return {name: metric for name, metric in of_all.items() if name in found or name in chosen}


def _result_metrics(store: Asked, run_ids: Sequence[str] | None) -> dict[str, Metric]:
    ids = None if run_ids is None else list(run_ids)
    found = store.query(statement("result_metrics"), {"run_ids": ids}).to_pylist()
    return {
        f"{RESULTS}.{row['metric']}.{row['statistic']}": Metric(
            f"{row['metric']}, {row['statistic']}, {row['unit']}", RESULT, row["metric"], row["statistic"]
        )
        for row in found
    }


def ids_found(store: Asked, wanted: RunFilter) -> list[str] | None:
    """The ids of the runs that the filter lets through; None where they are more than are asked by their ids."""
    sql = f"SELECT run_id FROM {runs_found(wanted)} LIMIT {MOST_IDS + 1}"
    ids: list[str] = store.query(sql)["run_id"].to_pylist()
    return ids if len(ids) <= MOST_IDS else None


def explore_sql(wanted: RunFilter, view: View, metrics: Mapping[str, Metric], of_ids: bool = False) -> str:
    """One row a run, or a row a point of its loads: run_id, name, x, y, color, point, and facet where one is chosen.

    Each row says of how many points, and of how many runs, MOST_ROWS are given: those of the runs started last.
    of_ids: of the runs of $run_ids in the place of those that the filter lets through.
    """
    source = OF_IDS if of_ids else OF_ALL
    drawn = [metrics[one] for one in (view.y, view.x) if one in metrics]
    at = _point_of(view, metrics)
    columns = [f"{_column(name, view, metrics)} AS {alias}" for alias, name in (("x", view.x), ("y", view.y))]
    columns += [f"{_column(view.color, view, metrics) if view.color else 'NULL'} AS color"]
    columns += [f"{at}.point AS point" if at else "NULL AS point"]
    columns += [f"{_column(view.facet, view, metrics)} AS facet"] if view.facet else []
    return "\n".join(
        [
            "WITH found AS MATERIALIZED (",
            f"SELECT r.run_id, r.name, {STARTED_AT} AS started_at, {', '.join(columns)}",
            f"FROM {source.runs or runs_found(wanted)}",
            *([f"LEFT JOIN {source.lines} line USING (run_id)"] if _has(LINE, drawn) else []),
            *([f"LEFT JOIN {source.startup} ON startup.run_id = r.run_id"] if _has(STARTUP, drawn) else []),
            *_result_joins(view, metrics, source),
            ")",
            "SELECT found.*, of_points, of_runs",
            "FROM found, (SELECT count(*) AS of_points, count(DISTINCT run_id) AS of_runs FROM found)",
            f"ORDER BY started_at DESC, run_id DESC, point, x, y LIMIT {MOST_ROWS}",
        ]
    )


def ask_view(store: Asked, sql: str, run_ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The rows of a view, in the order of their runs' ids; a number that is not finite is not known.

    run_ids: for a question that was made `of_ids`.
    """
    found = store.query(sql, None if run_ids is None else {"run_ids": list(run_ids)}).to_pylist()
    rows = sorted(found, key=lambda row: row["run_id"])  # stable: points stay in their order
    return [{name: _known(value) for name, value in row.items()} for row in rows]


def _has(source: str, metrics: Sequence[Metric]) -> bool:
    return any(metric.source == source for metric in metrics)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _point_of(view: View, metrics: Mapping[str, Metric]) -> str | None:
    """The join that a point's fields come from; None where no metric of results is drawn."""
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
        at = _point_of(view, metrics)
        return f"{at}.{POINT_FIELDS[name][1]}" if at else "NULL"
    if name == ARM:
        return r"regexp_replace(r.name, ' #\d+$', '')"
    if name == STARTED:
        return STARTED_AT
    field = FIELDS[name]
    sql = f"array_to_string({field.sql}, ', ')" if field.is_list else field.sql
    return sql if field.is_number else f"coalesce(nullif({sql}, ''), {quoted(NOT_STATED)})"


def _result_joins(view: View, metrics: Mapping[str, Metric], source: _Source) -> list[str]:
    """Two metrics of results are joined at the same point of the same load."""
    names = [axis for axis in ("y", "x") if _is_result(getattr(view, axis), metrics)]
    if len(names) == 2 and view.x == view.y:
        names = ["y"]
    joins = []
    for place, axis in enumerate(names):
        metric = metrics[getattr(view, axis)]
        same = " AND x_of.load_id = y_of.load_id AND x_of.point = y_of.point" if place else ""
        joins.append(
            f"LEFT JOIN {source.results} {axis}_of ON {axis}_of.run_id = r.run_id{same}\n"
            f"    AND {axis}_of.metric = {quoted(metric.column)} AND {axis}_of.statistic = {quoted(metric.statistic)}"
        )
    return joins
