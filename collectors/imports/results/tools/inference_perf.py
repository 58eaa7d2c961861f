"""Reads the reports of inference-perf (`summary_lifecycle_metrics.json`, `stage_*_lifecycle_metrics.json`).

Its latencies are in seconds. `normalized_time_per_output_token` is a request's total time over its output tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, cut, dict_of

TOOL = "inference-perf"


class ReportedDistribution(NamedTuple):
    """Pitwall's metric for a distribution of the report, and the factor to its unit."""

    metric: str
    factor: float = 1.0


LATENCIES = {
    "request_latency": ReportedDistribution("e2e_ms", 1e3),
    "normalized_time_per_output_token": ReportedDistribution("e2e_per_token_ms", 1e3),
    "time_per_output_token": ReportedDistribution("tpot_ms", 1e3),
    "time_to_first_token": ReportedDistribution("ttft_ms", 1e3),
    "inter_token_latency": ReportedDistribution("itl_ms", 1e3),
}
LENGTHS = {"prompt_len": ReportedDistribution("prompt_tokens"), "output_len": ReportedDistribution("completion_tokens")}
THROUGHPUTS = {
    "input_tokens_per_sec": "prompt_tps",
    "output_tokens_per_sec": "output_tps",
    "total_tokens_per_sec": "total_tps",
    "requests_per_sec": "request_tps",
}
LOAD_UNITS = {"send_duration": "s", "achieved_rate": "requests/s"}
SIGNED = ("schedule_delay",)  # a request may be sent early
STATISTIC_NAMES = {"p50": "median"}
POINT, FAILED_POINT = MeasurementPoint("all requests"), MeasurementPoint("failed requests")


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of such a report."""
    return head.lstrip().startswith("{") and '"load_summary"' in head and '"successes"' in head


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a report; raises ImportRefusedError if it has no result."""
    report = dict_of(source.json())
    load_summary, successes = dict_of(report.get("load_summary")), dict_of(report.get("successes"))
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, ticket.file_date, planned_requests=count(load_summary.get("count")),
    )  # fmt: skip
    _add_successes(load, successes)
    _add_failures(load, dict_of(report.get("failures")))
    _add_load_summary(load, load_summary)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is a report of inference-perf, but has no result.")
    return [load]


def _add_successes(load: LoadBuilder, successes: Mapping[str, Any]) -> None:
    n = count(successes.get("count"))
    if "count" in successes:
        load.result(POINT, "requests", "total", successes["count"])
    for name, values in (*dict_of(successes.get("latency")).items(), *successes.items()):
        if name in LATENCIES:
            # Requests of a single token have no time per later token, and gaps are not requests.
            is_per_request = name in ("request_latency", "normalized_time_per_output_token", "time_to_first_token")
            _add_statistics(load, LATENCIES[name], dict_of(values), n if is_per_request else None)
        elif name in LENGTHS:
            _add_statistics(load, LENGTHS[name], dict_of(values), n)
        elif name not in ("count", "latency", "throughput") and values is not None:
            load.params[name] = cut(values)
    for name, value in dict_of(successes.get("throughput")).items():
        if name in THROUGHPUTS:
            load.result(POINT, THROUGHPUTS[name], "mean", value)
        elif value is not None:
            load.params[name] = cut(value)


def _add_statistics(
    load: LoadBuilder, distribution: ReportedDistribution, values: Mapping[str, Any], n: int | None
) -> None:
    for statistic, value in values.items():
        name = STATISTIC_NAMES.get(statistic, statistic)
        load.result(POINT, distribution.metric, name, value, factor=distribution.factor, n=n)


def _add_failures(load: LoadBuilder, failures: Mapping[str, Any]) -> None:
    """Add what the report states of failed requests; their latencies are no latencies of answers."""
    if "count" in failures:
        load.result(POINT, "failed_requests", "total", failures["count"])
    for name, values in failures.items():
        unit = "s" if name in LATENCIES else "tokens"
        _add_stated(load, FAILED_POINT, name, dict_of(values), unit)


def _add_load_summary(load: LoadBuilder, load_summary: Mapping[str, Any]) -> None:
    for name, value in load_summary.items():
        if name in LOAD_UNITS:
            _add_stated(load, POINT, name, {STATED: value}, LOAD_UNITS[name])
        elif isinstance(value, dict):
            _add_stated(load, POINT, name, value, "s")
        elif name != "count" and value is not None:
            load.params[name] = cut(value)


def _add_stated(load: LoadBuilder, point: MeasurementPoint, name: str, values: Mapping[str, Any], unit: str) -> None:
    """Add values that Pitwall has no metric for; the point names them."""
    for statistic, value in values.items():
        stated_point = point._replace(name=f"{point.name}: {name}")
        statistic = STATISTIC_NAMES.get(statistic, statistic)
        load.result(stated_point, STATED, statistic, value, unit=unit, is_signed=name in SIGNED)
