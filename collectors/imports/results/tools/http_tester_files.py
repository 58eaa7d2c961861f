"""Reads the JSON that testers of any HTTP server write: oha, autocannon and bombardier."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.http_testers import assumption_note
from collectors.imports.results.values import count, dict_of, list_of, number, text, time_of_text

POINT = MeasurementPoint("all requests")
PERCENTILE = re.compile(r"p?(?P<whole>\d{1,2})(?:[._](?P<part>\d{1,3}))?")
STATISTICS = {"mean": "mean", "min": "min", "max": "max", "average": "mean", "fastest": "min", "slowest": "max"}
AT_DEADLINE = "aborted due to deadline"  # oha's own end of a request, no failure of the server


class JsonTool(NamedTuple):
    """A tool: the names that its JSON always has, and what adds the values of a report to a load."""

    name: str
    needed: tuple[str, ...]
    add: Callable[[LoadBuilder, Mapping[str, Any]], None]


def recognise(head: str) -> bool:
    """Return whether JSON begins so and has the names of one of the tools."""
    return _tool_of(head) is not None


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a report; raises ImportRefusedError if no request was timed."""
    tool = _tool_of(source.head) or TOOLS[0]
    load = LoadBuilder(ticket, tool.name, None, tool.name, ticket.file_date, notes=[assumption_note(tool.name)])
    tool.add(load, dict_of(source.json()))
    if not any(row.metric.startswith("e2e") and row.value for row in load.result_rows):
        raise ImportRefusedError(f"{source.name} is a report of {tool.name}, but timed no request.")
    return [load]


def _tool_of(head: str) -> JsonTool | None:
    is_object = head.lstrip().startswith("{")
    return next((tool for tool in TOOLS if is_object and all(f'"{name}"' in head for name in tool.needed)), None)


# --- oha --------------------------------------------------------------------------------------------------------------
def _add_oha(load: LoadBuilder, report: Mapping[str, Any]) -> None:
    """Add a report, whose times are seconds."""
    summary = dict_of(report.get("summary"))
    load.result(POINT, "duration_s", "total", summary.get("total"))
    load.result(POINT, "request_tps", "mean", summary.get("requestsPerSec"))
    _add_statistics(load, POINT, "e2e_ms", summary, 1e3)
    _add_statistics(load, POINT, "e2e_ms", dict_of(report.get("latencyPercentiles")), 1e3)
    first_bytes = {
        **dict_of(dict_of(report.get("details")).get("firstByte")),
        **dict_of(report.get("firstBytePercentiles")),
    }
    _add_statistics(load, POINT._replace(name="all requests: first byte"), STATED, first_bytes, 1e3, "ms")
    errors = {str(name): count(value) or 0 for name, value in dict_of(report.get("errorDistribution")).items()}
    incomplete = sum(value for name, value in errors.items() if name.startswith(AT_DEADLINE))
    _add_counts(load, POINT, dict_of(report.get("statusCodeDistribution")), sum(errors.values()) - incomplete)
    if incomplete:
        load.result(POINT, "incomplete_requests", "total", incomplete)
    load.params |= {"success_rate": summary["successRate"]} if number(summary.get("successRate")) is not None else {}


# --- autocannon -------------------------------------------------------------------------------------------------------
def _add_autocannon(load: LoadBuilder, report: Mapping[str, Any]) -> None:
    """Add a report, whose times are milliseconds; its deviations divide by n."""
    point = POINT._replace(concurrency=count(report.get("connections")))
    latencies, rates = (dict_of(report.get(name)) for name in ("latency", "requests"))
    load.ts = time_of_text(report.get("start")) or load.ts
    n = count(latencies.get("totalCount"))
    load.result(point, "e2e_ms", "mean", latencies.get("mean"), n=n, population_sd=latencies.get("stddev"))
    _add_statistics(load, point, "e2e_ms", _without_mean(latencies))
    _add_statistics(load, point, "request_tps", _without_mean(rates) | {"mean": rates.get("mean")})
    load.result(point, "duration_s", "total", report.get("duration"))
    statuses = {f"{kind}00": report.get(f"{kind}xx") for kind in range(1, 6)}
    _add_counts(load, point, statuses, count(report.get("errors")) or 0)
    settings = ("title", "pipelining", "workers", "timeouts", "mismatches", "resets")
    load.params |= {name: report[name] for name in settings if isinstance(report.get(name), int | str)}


def _without_mean(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statistics without the mean, which stands under two names."""
    return {name: value for name, value in values.items() if name not in ("mean", "average")}


# --- bombardier -------------------------------------------------------------------------------------------------------
def _add_bombardier(load: LoadBuilder, report: Mapping[str, Any]) -> None:
    """Add a report, whose latencies are microseconds."""
    spec, result = dict_of(report.get("spec")), dict_of(report.get("result"))
    point = POINT._replace(concurrency=count(spec.get("numberOfConnections")))
    for name, metric, factor in (("latency", "e2e_ms", 1e-3), ("rps", "request_tps", 1.0)):
        values = dict_of(result.get(name))
        _add_statistics(load, point, metric, values, factor)
        _add_statistics(load, point, metric, dict_of(values.get("percentiles")), factor)
    load.result(point, "duration_s", "total", result.get("timeTakenSeconds"))
    statuses = {f"{kind}00": result.get(f"req{kind}xx") for kind in range(1, 6)}
    _add_counts(load, point, statuses, count(result.get("others")) or 0)
    errors = (dict_of(error) for error in list_of(result.get("errors")))
    load.params |= {f"error: {text(error.get('description'), 200)}": count(error.get("count")) for error in errors}
    settings = ("testType", "method", "client", "rate", "timeoutSeconds")
    load.params |= {name: spec[name] for name in settings if isinstance(spec.get(name), int | float | str)}


# --- all --------------------------------------------------------------------------------------------------------------
def _add_counts(load: LoadBuilder, point: MeasurementPoint, statuses: Mapping[str, Any], errors: int) -> None:
    """Add the answers with a status of success, and those with another or none at all."""
    counts = {status: count(value) or 0 for status, value in statuses.items()}
    load.result(point, "requests", "total", _sum_of(counts, "2"))
    load.result(point, "failed_requests", "total", _sum_of(counts, "45") + errors)


def _sum_of(counts: Mapping[str, int], first_digits: Iterable[str]) -> int:
    return sum(value for status, value in counts.items() if status[:1] in first_digits)


def _add_statistics(
    load: LoadBuilder, point: MeasurementPoint, metric: str, values: Mapping[str, Any], factor: float = 1.0,
    unit: str | None = None,
) -> None:  # fmt: skip
    for name, value in values.items():
        match = PERCENTILE.fullmatch(name)
        percent = ".".join(filter(None, match.groups())) if match else ""
        statistic = percentile_name(percent) if percent else STATISTICS.get(name)
        if statistic is not None and number(value) is not None:
            load.result(point, metric, statistic, value, factor=factor, unit=unit)


TOOLS = (
    JsonTool("oha", ("successRate", "requestsPerSec", "latencyPercentiles"), _add_oha),
    JsonTool("autocannon", ("latency", "requests", "throughput", "non2xx", "p97_5"), _add_autocannon),
    JsonTool("bombardier", ("spec", "numberOfConnections", "timeTakenSeconds"), _add_bombardier),
)
