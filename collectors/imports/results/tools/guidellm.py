"""Reads GuideLLM's JSON and CSV reports: one load per report, one phase and point per benchmark.

Its `inter_token_latency` is a request's time after its first token divided by the later tokens: `tpot_ms`.
Its `time_per_output_token` is the request's total time divided by all of its tokens.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import after, count, dict_of, digest, list_of, number, scaled, text, time_of
from reasons import Code, Reason

TOOL = "guidellm"
WEIGHTED, OVER_TIME = Code.SD_IS_WEIGHTED, Code.SD_IS_OVER_TIME


class Distribution(NamedTuple):
    """Pitwall's metric for one of GuideLLM's distributions."""

    metric: str
    factor: float = 1.0
    no_sd: Code | None = None  # why its deviation is not one of single values


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "request_latency": Distribution("e2e_ms", 1e3),
    "time_to_first_token_ms": Distribution("ttft_ms"),
    "time_per_output_token_ms": Distribution("e2e_per_token_ms", no_sd=WEIGHTED),
    "inter_token_latency_ms": Distribution("tpot_ms", no_sd=WEIGHTED),
    "prompt_token_count": Distribution("prompt_tokens"),
    "output_token_count": Distribution("completion_tokens"),
    "requests_per_second": Distribution("request_tps", no_sd=OVER_TIME),
    "request_concurrency": Distribution("mean_concurrency", no_sd=OVER_TIME),
    "prompt_tokens_per_second": Distribution("prompt_tps", no_sd=OVER_TIME),
    "output_tokens_per_second": Distribution("output_tps", no_sd=OVER_TIME),
    "tokens_per_second": Distribution("total_tps", no_sd=OVER_TIME),
    "output_tokens_per_iteration": Distribution("tokens_per_piece", no_sd=WEIGHTED),
}
PERCENTILES = ("min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max")  # of a CSV's list
PERCENTILE_NAMES = {
    "p0.1": "p001", "p1": "p01", "p5": "p05", "p10": "p10", "p25": "p25", "p75": "p75", "p90": "p90", "p95": "p95",
    "p99": "p99", "p99.9": "p999",
}  # fmt: skip
COUNTS = {"successful": "requests", "errored": "failed_requests", "incomplete": "incomplete_requests"}
GROUPS = {  # (group, column) in the CSV -> name in the JSON
    ("Request Latency", "Successful Sec"): "request_latency",
    ("Time to First Token", "Successful ms"): "time_to_first_token_ms",
    ("Time per Output Token", "Successful ms"): "time_per_output_token_ms",
    ("Inter Token Latency", "Successful ms"): "inter_token_latency_ms",
    ("Token Metrics", "Successful Input Tokens"): "prompt_token_count",
    ("Token Metrics", "Successful Output Tokens"): "output_token_count",
    ("Server Throughput", "Successful Requests/Sec"): "requests_per_second",
    ("Server Throughput", "Successful Concurrency"): "request_concurrency",
    ("Token Throughput", "Successful Input Tokens/Sec"): "prompt_tokens_per_second",
    ("Token Throughput", "Successful Output Tokens/Sec"): "output_tokens_per_second",
    ("Token Throughput", "Successful Total Tokens/Sec"): "tokens_per_second",
    ("Token Streaming", "Successful Output Tokens/Iter"): "output_tokens_per_iteration",
}
NO_CLASS = "-"
EARLY_TABLE = "Type,Run Id,Id,Name,"  # of a table before 0.4, with one line of heads
EARLY_EXTREMES = " [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]"
EARLY_LABELS = {"mean": "mean", "median": "median", "std_dev": "std dev"}
EARLY_MARK = '"generative_benchmark"'  # before 0.4 a report does not state its version


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of a GuideLLM report."""
    has_marks = '"guidellm_version"' in head or ('"benchmarks"' in head and EARLY_MARK in head)
    return (head.lstrip().startswith("{") and has_marks) or head.startswith(("Run Info,Run Info,", EARLY_TABLE))


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a report; raises ImportRefusedError."""
    if source.head.startswith(EARLY_TABLE):
        return [_read_early_table(source, ticket)]
    return [_read_json(source, ticket) if source.head.lstrip().startswith("{") else _read_csv(source, ticket)]


def _read_json(source: ResultFile, ticket: Ticket) -> LoadBuilder:
    report = dict_of(source.json())
    benchmarks = [dict_of(benchmark) for benchmark in list_of(report.get("benchmarks"))]
    if not benchmarks:
        raise ImportRefusedError(f"{source.name} has no benchmark.")
    spec = dict_of(dict_of(report.get("config")).get("spec")) or dict_of(report.get("args"))  # before 0.8
    backend = dict_of(spec.get("backend")) or dict_of(dict_of(benchmarks[0].get("config")).get("backend"))
    worker = dict_of(benchmarks[0].get("worker"))  # of early reports
    started_at = time_of(benchmarks[0].get("start_time")) or ticket.file_date
    load = LoadBuilder(
        ticket, TOOL, text(dict_of(report.get("metadata")).get("guidellm_version")), TOOL, started_at,
        params={name: spec.get(name) for name in ("profile", "constraints", "data", "seed")},
        model=text(backend.get("model") or worker.get("backend_model")),
        base_url=text(backend.get("target") or worker.get("backend_target")),
    )  # fmt: skip
    prompt_hashes = [
        _add_benchmark(load, level_index, benchmark, _requested_tokens(spec))
        for level_index, benchmark in enumerate(benchmarks)
    ]
    benchmark_hashes = [prompt_hash for benchmark_hashes in prompt_hashes for prompt_hash in benchmark_hashes]
    load.prompt_set_hash = digest(benchmark_hashes) if benchmark_hashes and None not in benchmark_hashes else None
    return load


def _requested_tokens(spec: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the requested prompt and output tokens, if all data has one shape."""
    shapes = {(count(d.get("prompt_tokens")), count(d.get("output_tokens")))
              for d in map(dict_of, list_of(spec.get("data")))}  # fmt: skip
    return shapes.pop() if len(shapes) == 1 else (None, None)


def _point(strategy: Mapping[str, Any], requested_tokens: tuple[int | None, int | None]) -> MeasurementPoint:
    concurrency = count(strategy.get("streams")) or count(strategy.get("max_concurrency"))
    kind = text(strategy.get("type_")) or "load"
    rate = number(strategy.get("rate"))
    name = f"{kind} at {rate:g}/s" if rate is not None else f"{concurrency} at once" if concurrency else kind
    return MeasurementPoint(name, concurrency, *requested_tokens)


def _add_benchmark(
    load: LoadBuilder, level_index: int, benchmark: Mapping[str, Any], requested_tokens: tuple[int | None, int | None]
) -> list[str | None]:
    """Add a benchmark's values, requests and phase; returns its prompt hashes in the order in which they were sent."""
    settings = dict_of(benchmark.get("config")) or dict_of(benchmark.get("args"))
    point = _point(dict_of(settings.get("strategy")), requested_tokens)
    metrics = dict_of(benchmark.get("metrics"))
    totals = dict_of(metrics.get("request_totals")) or dict_of(benchmark.get("request_totals"))
    for name, metric in COUNTS.items():
        load.result(point, metric, "total", totals.get(name))
    for name in DISTRIBUTIONS:
        values = dict_of(dict_of(metrics.get(name)).get("successful"))
        if values:
            _add_distribution(
                load, point, name, {**values, **dict_of(values.get("percentiles"))}, count(values.get("count"))
            )
    return _add_requests(load, level_index, benchmark, point)


def _add_distribution(
    load: LoadBuilder, point: MeasurementPoint, name: str, values: Mapping[str, Any], n: int | None
) -> None:
    distribution = DISTRIBUTIONS[name]
    n = None if distribution.no_sd else n
    sd_arguments = (
        {"reasons": [Reason(distribution.no_sd)]} if distribution.no_sd else {"population_sd": values.get("std_dev")}
    )
    names = {"mean": "mean", "median": "median", "min": "min", "max": "max", **PERCENTILE_NAMES}
    load.results(point, distribution.metric, values, names, factor=distribution.factor, n=n, **sd_arguments)


def _add_requests(
    load: LoadBuilder, level_index: int, benchmark: Mapping[str, Any], point: MeasurementPoint
) -> list[str | None]:
    requests = dict_of(benchmark.get("requests"))
    rows = [(dict_of(row), status) for status in COUNTS for row in list_of(requests.get(status))]
    rows.sort(key=lambda row: _sent_s(row[0]) or 0.0)
    started_at, duration = time_of(benchmark.get("start_time")) or load.ts, number(benchmark.get("duration")) or 0.0
    hashes = [
        _add_request(load, level_index, sequence, started_at, row, status, point)
        for sequence, (row, status) in enumerate(rows)
    ]
    if rows:
        load.phase(
            ts=after(started_at, duration), phase_index=level_index, title=point.name, kind="measure",
            concurrency=point.concurrency or len(rows), began_at=started_at, duration_s=duration,
            planned_requests=len(rows), is_complete=not list_of(requests.get("incomplete")),
        )  # fmt: skip
    return hashes


def _add_request(
    load: LoadBuilder,
    level_index: int,
    sequence: int,
    started_at: datetime,
    row: Mapping[str, Any],
    status: str,
    point: MeasurementPoint,
) -> str | None:
    info = dict_of(row.get("info"))
    sent_at = time_of(_sent_s(row)) or started_at
    error_text = text(info.get("error") or row.get("error"))
    ttft_ms, total_ms = number(row.get("time_to_first_token_ms")), scaled(row.get("request_latency"), 1e3)
    prompt_hash = _prompt_hash(row.get("request_args")) or (digest(row["prompt"]) if text(row.get("prompt")) else None)
    cached_tokens = count(row.get("cached_tokens"))
    load.request(
        phase="measure", prompt_class=NO_CLASS, stream=0, concurrency=point.concurrency or 1, sent_at=sent_at,
        since_phase_s=(sent_at - started_at).total_seconds(), phase_index=level_index, sequence=sequence,
        prompt_hash=prompt_hash,
        ttft_ms=ttft_ms, total_ms=total_ms,
        decode_ms=total_ms - ttft_ms if total_ms is not None and ttft_ms is not None else None,
        prompt_tokens=count(row.get("prompt_tokens")), completion_tokens=count(row.get("output_tokens")),
        chunks=count(dict_of(info.get("timings")).get("token_iterations")),
        error_kind={"successful": None, "incomplete": "cancelled"}.get(status, error_kind(error_text)),
        error_text=error_text, extra={} if cached_tokens is None else {"cached_prompt_tokens": cached_tokens},
    )  # fmt: skip
    return prompt_hash


def _sent_s(row: Mapping[str, Any]) -> float | None:
    """Return when a request was sent; early reports call it its start."""
    return number(row.get("request_start_time")) or number(row.get("start_time"))


def _prompt_hash(request: Any) -> str | None:
    """Return the hash of the prompt."""
    try:
        body = dict_of(dict_of(json.loads(request)).get("body"))
    except (TypeError, ValueError, RecursionError):
        return None
    prompt = body.get("messages") or body.get("prompt")
    return digest(prompt) if prompt else None


# --- CSV --------------------------------------------------------------------------------------------------------------
def _read_csv(source: ResultFile, ticket: Ticket) -> LoadBuilder:
    content = source.text()
    with source.refusing_bad_csv():
        rows = list(csv.reader(io.StringIO(content, newline="")))
    if len(rows) < 4 or len({len(row) for row in rows}) > 1 or not content.endswith("\n"):
        raise source.refusal(content.count("\n") + 1, "it is cut off here, or not a report of GuideLLM")
    columns = list(zip(*rows[:3], strict=True))
    tables = [dict(zip(columns, row, strict=True)) for row in rows[3:]]
    load = LoadBuilder(ticket, TOOL, _version(tables[0]), TOOL, _stamp(tables[0]) or ticket.file_date)
    backends = [dict_of(_value(table.get(("Run Info", "Backend", "")))) for table in tables]
    models = {model for backend in backends if (model := text(backend.get("model")))}
    load.model = models.pop() if len(models) == 1 else None
    for table in tables:
        _add_row(load, table)
    return load


Cells = Mapping[tuple[str, ...], str]


def _add_row(load: LoadBuilder, table: Cells) -> None:
    point = _strategy_point(table.get(("Benchmark", "Strategy", ""), "load"))
    for name, metric in (
        ("Successful", "requests"),
        ("Errored", "failed_requests"),
        ("Incomplete", "incomplete_requests"),
    ):
        load.result(point, metric, "total", _value(table.get(("Request Counts", name, ""))))
    n = count(_value(table.get(("Request Counts", "Successful", ""))))
    for (group, column), name in GROUPS.items():
        cell = {kind: _value(table.get((group, column, kind))) for kind in ("Mean", "Median", "Std Dev", "Percentiles")}
        percentiles = dict(
            zip(PERCENTILES, cell["Percentiles"] if isinstance(cell["Percentiles"], list) else (), strict=False)
        )
        values = {"mean": cell["Mean"], "median": cell["Median"], "std_dev": cell["Std Dev"], **percentiles}
        _add_distribution(load, point, name, {k: v for k, v in values.items() if v is not None}, n)


def _strategy_point(strategy: str) -> MeasurementPoint:
    kind, _, amount = strategy.partition("@")
    concurrency = int(amount) if kind == "concurrent" and amount.isdigit() else 1 if kind == "synchronous" else None
    return MeasurementPoint(
        f"{concurrency} at once" if concurrency else f"{kind} at {amount}/s" if amount else kind, concurrency
    )


def _value(cell: str | None) -> Any:
    try:
        return json.loads(cell, parse_constant=str) if cell else None
    except (ValueError, RecursionError):
        return cell


def _version(table: Cells) -> str | None:
    return text(dict_of(_value(table.get(("Runtime Info", "Metadata", "")))).get("guidellm_version"))


def _stamp(table: Cells) -> datetime | None:
    """Return the start time; the file has no time zone, so this machine's is assumed."""
    try:
        return datetime.strptime(table[("Timings", "Measure Start Time", "")], "%Y-%m-%d %H:%M:%S").astimezone(UTC)
    except (KeyError, ValueError):
        return None


# --- CSV before 0.4 ---------------------------------------------------------------------------------------------------
def _read_early_table(source: ResultFile, ticket: Ticket) -> LoadBuilder:
    with source.refusing_bad_csv():
        rows = list(csv.DictReader(io.StringIO(source.text(), newline="")))
    if not rows or any(None in row or None in row.values() for row in rows):
        raise ImportRefusedError(f"{source.name} is a table of GuideLLM, but it is cut off.")
    worker = dict_of(_value(rows[0].get("Worker")))
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, _early_stamp(rows[0].get("Start Time")) or ticket.file_date,
        model=text(worker.get("backend_model")), base_url=text(worker.get("backend_target")),
    )  # fmt: skip
    for row in rows:
        _add_early_row(load, row)
    return load


def _add_early_row(load: LoadBuilder, row: Mapping[str, str]) -> None:
    point = _point(dict_of(dict_of(_value(row.get("Args"))).get("strategy")), (None, None))
    load.result(point, "duration_s", "total", _value(row.get("Duration")))
    for status, metric in (
        ("Successful", "requests"), ("Incomplete", "incomplete_requests"), ("Errored", "failed_requests"),
    ):  # fmt: skip
        load.result(point, metric, "total", _value(row.get(f"{status} Requests")))
    n = count(_value(row.get("Successful Requests")))
    for name in DISTRIBUTIONS:
        title = f"Successful {name.replace('_', ' ').capitalize()}"
        extremes = list_of(_value(row.get(f"{title}{EARLY_EXTREMES}")))
        values = dict(zip(PERCENTILES, extremes, strict=True)) if len(extremes) == len(PERCENTILES) else {}
        values |= {key: _value(row.get(f"{title} {label}")) for key, label in EARLY_LABELS.items()}
        stated_values = {key: value for key, value in values.items() if value is not None}
        if stated_values:
            _add_distribution(load, point, name, stated_values, n)


def _early_stamp(stamp: str | None) -> datetime | None:
    """Return the start time; the file has no time zone, so this machine's is assumed."""
    try:
        return datetime.strptime(stamp or "", "%Y-%m-%d %H:%M:%S").astimezone(UTC)
    except ValueError:
        return None
