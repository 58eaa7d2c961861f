"""Reads Locust's `*_stats.csv`, if one of its rows names a latency of tokens or an endpoint of a model."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile

TOOL = "locust"
FIRST_COLUMNS = ["type", "name", "request count", "failure count"]
AGGREGATED = "Aggregated"  # the row of all others
METRICS = (  # of a row's name
    (re.compile(r"ttft|first[ _-]token", re.IGNORECASE), "ttft_ms"),
    (re.compile(r"\btpot\b|per[ _-]output[ _-]token", re.IGNORECASE), "tpot_ms"),
    (re.compile(r"\bitl\b|inter[ _-]token", re.IGNORECASE), "itl_ms"),
    (re.compile(r"\be2e|end[ _-]to[ _-]end", re.IGNORECASE), "e2e_ms"),
)
OF_MODEL = re.compile(r"completions?\b|\bchat\b|\bgenerate|\bv1/|\btokens?\b|ttft|tpot|\bllm\b", re.IGNORECASE)
ENDPOINT = re.compile(r"/\S*(?:completions?|generate|messages|responses)\b", re.IGNORECASE)
LATENCIES = {
    "Average Response Time": "mean", "Median Response Time": "median", "Min Response Time": "min",
    "Max Response Time": "max",
}  # fmt: skip
PERCENTILE = re.compile(r"(?P<percent>[5-9]\d(?:\.\d{1,3})?)%")


def recognise(head: str) -> bool:
    """Return whether a file begins with the columns of Locust's statistics."""
    columns = [name.strip().strip('"').lower() for name in head.lstrip().partition("\n")[0].split(",")]
    return columns[: len(FIRST_COLUMNS)] == FIRST_COLUMNS and "requests/s" in columns


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of such statistics; raises ImportRefusedError if no row is that of a model."""
    with source.refusing_bad_csv():
        rows = [row for row in csv.DictReader(source.text().splitlines()) if row["Name"] not in (None, AGGREGATED)]
    if not any(OF_MODEL.search(row["Name"]) for row in rows):
        raise ImportRefusedError(
            f"{source.name} has Locust's statistics, but none of its rows names a latency of tokens or an endpoint "
            "of a language model."
        )
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    measures_parts = any(_metric_of(row["Name"]) for row in rows)  # then the answers are streamed
    for row in rows:
        _add_row(load, row, measures_parts)
    return [load]


def _add_row(load: LoadBuilder, row: Mapping[str, str], measures_parts: bool) -> None:
    """Add the latencies of a row, in milliseconds, and its counts and rate.

    `measures_parts`: rows of their own have the latencies of tokens; the response time of an endpoint is then another.
    """
    point = MeasurementPoint(f"{row.get('Type') or ''} {row['Name']}".strip())
    is_answer = not measures_parts and ENDPOINT.search(row["Name"]) is not None
    metric = _metric_of(row["Name"]) or ("e2e_ms" if is_answer else STATED)
    unit = "ms" if metric == STATED else None
    load.result(point, "requests", "total", _number(row.get("Request Count")))
    load.result(point, "failed_requests", "total", _number(row.get("Failure Count")))
    load.result(point, "request_tps", "mean", _number(row.get("Requests/s")))
    for column, cell in row.items():
        statistic = LATENCIES.get(column)
        if match := PERCENTILE.fullmatch(column or ""):
            statistic = f"p{match['percent']}"
        if statistic is not None and column != "50%":  # the median again
            load.result(point, metric, statistic, _number(cell), unit=unit)


def _metric_of(name: str) -> str | None:
    return next((metric for pattern, metric in METRICS if pattern.search(name)), None)


def _number(cell: str | None) -> float | str | None:
    try:
        return float(cell) if cell else None
    except ValueError:
        return cell
