"""GuideLLM's reports, JSON and CSV: a load a report, a phase and a point a benchmark.

Its `inter_token_latency` is a request's time after its first token over the tokens after it: our time per output token.
Its `time_per_output_token` is all of the request's time over all of its tokens.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import Source
from collectors.imports.results.values import after, count, dict_of, digest, list_of, moment, number, scaled, text
from reasons import Code, Reason

TOOL = "guidellm"
WEIGHTED, OVER_TIME = Code.SD_IS_WEIGHTED, Code.SD_IS_OVER_TIME


class Kind(NamedTuple):
    """What one of its distributions is to us."""

    metric: str
    factor: float = 1.0
    no_sd: Code | None = None  # why its deviation is none of single values


DISTRIBUTIONS: Mapping[str, Kind] = {
    "request_latency": Kind("e2e_ms", 1e3),
    "time_to_first_token_ms": Kind("ttft_ms"),
    "time_per_output_token_ms": Kind("e2e_per_token_ms", no_sd=WEIGHTED),
    "inter_token_latency_ms": Kind("tpot_ms", no_sd=WEIGHTED),
    "prompt_token_count": Kind("prompt_tokens"),
    "output_token_count": Kind("completion_tokens"),
    "requests_per_second": Kind("request_tps", no_sd=OVER_TIME),
    "request_concurrency": Kind("mean_concurrency", no_sd=OVER_TIME),
    "prompt_tokens_per_second": Kind("prompt_tps", no_sd=OVER_TIME),
    "output_tokens_per_second": Kind("output_tps", no_sd=OVER_TIME),
    "tokens_per_second": Kind("total_tps", no_sd=OVER_TIME),
    "output_tokens_per_iteration": Kind("tokens_per_piece", no_sd=WEIGHTED),
}
PERCENTILES = ("p001", "p01", "p05", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p999")
KEPT = {"p90": "p90", "p95": "p95", "p99": "p99"}
COUNTS = {"successful": "requests", "errored": "failed_requests", "incomplete": "incomplete_requests"}
GROUPS = {  # of the CSV: (group, column) -> the name in the JSON
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


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    is_json = head.lstrip().startswith("{") and '"guidellm_version"' in head
    return is_json or head.startswith("Run Info,Run Info,")


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The load of a report; raises ImportRefusedError."""
    return [_read_json(source, ticket) if source.head.lstrip().startswith("{") else _read_csv(source, ticket)]


def _read_json(source: Source, ticket: Ticket) -> LoadBuilder:
    report = dict_of(source.json())
    benchmarks = [dict_of(one) for one in list_of(report.get("benchmarks"))]
    if not benchmarks:
        raise ImportRefusedError(f"{source.name} holds no benchmark.")
    spec = dict_of(dict_of(report.get("config")).get("spec"))
    backend = dict_of(spec.get("backend"))
    began = moment(benchmarks[0].get("start_time")) or ticket.dated
    load = LoadBuilder(
        ticket, TOOL, text(dict_of(report.get("metadata")).get("guidellm_version")), TOOL, began,
        params={name: spec.get(name) for name in ("profile", "constraints", "data", "seed")},
        model=text(backend.get("model")), base_url=text(backend.get("target")),
    )  # fmt: skip
    asked = [_add_benchmark(load, place, one, _wanted(spec)) for place, one in enumerate(benchmarks)]
    hashes = [one for hashes in asked for one in hashes]
    load.prompt_set_hash = digest(hashes) if hashes and None not in hashes else None
    return load


def _wanted(spec: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Tokens of prompt and answer as they were asked for, where all data is of one shape."""
    shapes = {(count(d.get("prompt_tokens")), count(d.get("output_tokens")))
              for d in map(dict_of, list_of(spec.get("data")))}  # fmt: skip
    return shapes.pop() if len(shapes) == 1 else (None, None)


def _point(strategy: Mapping[str, Any], wanted: tuple[int | None, int | None]) -> Point:
    at_once = count(strategy.get("streams")) or count(strategy.get("max_concurrency"))
    kind = text(strategy.get("type_")) or "load"
    rate = number(strategy.get("rate"))
    name = f"{kind} at {rate:g}/s" if rate is not None else f"{at_once} at once" if at_once else kind
    return Point(name, at_once, *wanted)


def _add_benchmark(
    load: LoadBuilder, place: int, one: Mapping[str, Any], wanted: tuple[int | None, int | None]
) -> list[str | None]:
    """Its numbers, its requests and its phase; the hashes of its prompts in the order in which they were sent."""
    point = _point(dict_of(dict_of(one.get("config")).get("strategy")), wanted)
    metrics = dict_of(one.get("metrics"))
    for name, metric in COUNTS.items():
        load.result(point, metric, "total", dict_of(metrics.get("request_totals")).get(name))
    for name in DISTRIBUTIONS:
        given = dict_of(dict_of(metrics.get(name)).get("successful"))
        if given:
            _add_distribution(
                load, point, name, {**given, **dict_of(given.get("percentiles"))}, count(given.get("count"))
            )
    return _add_requests(load, place, one, point)


def _add_distribution(load: LoadBuilder, point: Point, name: str, given: Mapping[str, Any], n: int | None) -> None:
    kind = DISTRIBUTIONS[name]
    n = None if kind.no_sd else n
    spread = {"reasons": [Reason(kind.no_sd)]} if kind.no_sd else {"population_sd": given.get("std_dev")}
    names = {"mean": "mean", "median": "median", "min": "min", "max": "max", **KEPT}
    load.results(point, kind.metric, given, names, factor=kind.factor, n=n, **spread)


def _add_requests(load: LoadBuilder, place: int, one: Mapping[str, Any], point: Point) -> list[str | None]:
    requests = dict_of(one.get("requests"))
    rows = [(dict_of(row), status) for status in COUNTS for row in list_of(requests.get(status))]
    rows.sort(key=lambda row: number(row[0].get("request_start_time")) or 0.0)
    began, duration = moment(one.get("start_time")) or load.ts, number(one.get("duration")) or 0.0
    hashes = [_add_request(load, place, number, began, row, status, point) for number, (row, status) in enumerate(rows)]
    if rows:
        load.phase(
            ts=after(began, duration), phase_index=place, title=point.name, kind="measure",
            concurrency=point.concurrency or len(rows), began_at=began, duration_s=duration,
            planned_requests=len(rows), is_complete=not list_of(requests.get("incomplete")),
        )  # fmt: skip
    return hashes


def _add_request(
    load: LoadBuilder, place: int, sequence: int, began: datetime, row: Mapping[str, Any], status: str, point: Point
) -> str | None:
    info = dict_of(row.get("info"))
    sent = moment(row.get("request_start_time")) or began
    said = text(info.get("error"))
    ttft_ms, total_ms = number(row.get("time_to_first_token_ms")), scaled(row.get("request_latency"), 1e3)
    hashed = _prompt_hash(row.get("request_args"))
    load.request(
        phase="measure", prompt_class=NO_CLASS, stream=0, concurrency=point.concurrency or 1, sent_at=sent,
        since_phase_s=(sent - began).total_seconds(), phase_index=place, sequence=sequence, prompt_hash=hashed,
        ttft_ms=ttft_ms, total_ms=total_ms,
        decode_ms=total_ms - ttft_ms if total_ms is not None and ttft_ms is not None else None,
        prompt_tokens=count(row.get("prompt_tokens")), completion_tokens=count(row.get("output_tokens")),
        chunks=count(dict_of(info.get("timings")).get("token_iterations")),
        error_kind={"successful": None, "incomplete": "cancelled"}.get(status, error_kind(said)), error_text=said,
        extra={"cached_prompt_tokens": cached} if (cached := count(row.get("cached_tokens"))) is not None else {},
    )  # fmt: skip
    return hashed


def _prompt_hash(request: Any) -> str | None:
    """The hash of the texts that were sent."""
    try:
        body = dict_of(dict_of(json.loads(request)).get("body"))
    except (TypeError, ValueError, RecursionError):
        return None
    asked = body.get("messages") or body.get("prompt")
    return digest(asked) if asked else None


# --- CSV --------------------------------------------------------------------------------------------------------------
def _read_csv(source: Source, ticket: Ticket) -> LoadBuilder:
    whole = source.text()
    rows = list(csv.reader(io.StringIO(whole, newline="")))
    if len(rows) < 4 or len({len(row) for row in rows}) > 1 or not whole.endswith("\n"):
        raise source.refusal(whole.count("\n") + 1, "it is cut off here, or no report of guidellm's")
    heads = list(zip(*rows[:3], strict=True))
    tables = [dict(zip(heads, row, strict=True)) for row in rows[3:]]
    load = LoadBuilder(ticket, TOOL, _version(tables[0]), TOOL, _stamp(tables[0]) or ticket.dated)
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
        shares = dict(
            zip(PERCENTILES, cell["Percentiles"] if isinstance(cell["Percentiles"], list) else (), strict=False)
        )
        named = {"mean": cell["Mean"], "median": cell["Median"], "std_dev": cell["Std Dev"], **shares}
        _add_distribution(load, point, name, {k: v for k, v in named.items() if v is not None}, n)


def _strategy_point(strategy: str) -> Point:
    kind, _, amount = strategy.partition("@")
    at_once = int(amount) if kind == "concurrent" and amount.isdigit() else 1 if kind == "synchronous" else None
    return Point(f"{at_once} at once" if at_once else f"{kind} at {amount}/s" if amount else kind, at_once)


def _value(cell: str | None) -> Any:
    try:
        return json.loads(cell, parse_constant=str) if cell else None
    except (ValueError, RecursionError):
        return cell


def _version(table: Cells) -> str | None:
    return text(dict_of(_value(table.get(("Runtime Info", "Metadata", "")))).get("guidellm_version"))


def _stamp(table: Cells) -> datetime | None:
    """Its times are of this machine's zone, as far as anybody knows."""
    try:
        return datetime.strptime(table[("Timings", "Measure Start Time", "")], "%Y-%m-%d %H:%M:%S").astimezone(UTC)
    except (KeyError, ValueError):
        return None
