"""Reads the summary that k6 writes at the end of a test, as `--summary-export` and `handleSummary` have it.

k6 measures in milliseconds. A metric of a script is read if its name states metric and unit, or if k6 says that it
contains times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.prose.value_names import ValueName, value_name_of
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.http_testers import assumption_note
from collectors.imports.results.values import count, dict_of, number

TOOL = "k6"
REQUEST_TIME = "http_req_duration"
NEEDED = ('"metrics"', f'"{REQUEST_TIME}', '"http_reqs"')
OWN = re.compile(r"http_|iteration|data_(?:sent|received)|vus|checks|group_duration|dropped_|ws_|grpc_")  # of k6 itself
STATISTICS = {"avg": "mean", "med": "median", "min": "min", "max": "max"}
PERCENTILE = re.compile(r"p\((?P<percent>\d{1,2}(?:\.\d{1,3})?)\)")


def recognise(head: str) -> bool:
    """Return whether JSON begins so and has the metrics of k6."""
    return head.lstrip().startswith("{") and all(name in head for name in NEEDED)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a summary; raises ImportRefusedError if no request was timed."""
    metrics = dict_of(dict_of(source.json()).get("metrics"))
    values = {
        name: dict_of(metric.get("values", metric)) for name, metric in metrics.items() if isinstance(metric, dict)
    }
    if not values.get(REQUEST_TIME):
        raise ImportRefusedError(f"{source.name} is a summary of k6, but timed no request ({REQUEST_TIME}).")
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, notes=[assumption_note(TOOL)])
    users = count(dict_of(values.get("vus_max")).get("max"))
    point = MeasurementPoint("all requests", users)
    _add_counts(load, point, values)
    _add_times(load, point, values[REQUEST_TIME], "e2e_ms")
    open_names = []
    for name, statistics in values.items():
        column = _column_of(name, dict_of(metrics[name]))
        if OWN.match(name) or not _has_statistics(statistics):
            continue
        if column is None:
            open_names.append(name)
        else:
            metric_name = column.metric_name or column.stated
            _add_times(load, point._replace(name=name), statistics, metric_name.metric, metric_name.factor, column.unit)
    if open_names:
        load.notes.append(f"Left out, since no unit that Pitwall knows is stated: {', '.join(open_names)[:200]}.")
    return [load]


def _add_counts(load: LoadBuilder, point: MeasurementPoint, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Add the counts and the rate of requests; the share of failures counts those that failed as passes."""
    requests = count(values["http_reqs"].get("count"))
    share = dict_of(values.get("http_req_failed"))
    failed = number(share.get("value", share.get("rate")))
    if requests is not None and failed is not None and failed <= 1:
        load.result(point, "failed_requests", "total", round(requests * failed))
        load.result(point, "requests", "total", requests - round(requests * failed))
    load.result(point, "request_tps", "mean", values["http_reqs"].get("rate"))


def _add_times(
    load: LoadBuilder, point: MeasurementPoint, values: Mapping[str, Any], metric: str, factor: float = 1.0,
    unit: str | None = "ms",
) -> None:  # fmt: skip
    for name, value in values.items():
        match = PERCENTILE.fullmatch(name)
        statistic = percentile_name(match["percent"]) if match else STATISTICS.get(name)
        if statistic is not None:
            load.result(point, metric, statistic, value, factor=factor, unit=unit if metric == STATED else None)


def _column_of(name: str, metric: Mapping[str, Any]) -> ValueName | None:
    """Return what a metric of the script measures; None if no unit is stated."""
    column = value_name_of(name)
    if column.unit is None and metric.get("contains") == "time":
        column = value_name_of(f"{name}_ms")
    return column if column.unit is not None else None


def _has_statistics(values: Mapping[str, Any]) -> bool:
    return any(name in values for name in STATISTICS)
