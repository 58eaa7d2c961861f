"""Reads the records that vLLM's benchmarks write for PyTorch's dashboard (`*.pytorch.json`): one load per file.

Each record has one metric, and the other results of the benchmark beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import offline_bench, serving, startup_bench
from collectors.imports.results.values import dict_of, item, list_of, text

MARKS = ('"benchmark_values"', '"extra_info"', '"metric"')
LATENCY = "latency"


def recognise(head: str) -> bool:
    """Return whether JSON has such records."""
    return head.lstrip().startswith("[") and all(mark in head for mark in MARKS)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError."""
    records = [dict_of(record) for record in list_of(source.json())]
    first_record = records[0] if records else {}
    arguments = dict_of(dict_of(dict_of(first_record.get("benchmark")).get("extra_info")).get("args"))
    load = _load_of(_merged(records), arguments, ticket)
    if load is None or not load.rows:
        raise ImportRefusedError(f"{source.name} has records for PyTorch, but of no benchmark that is read.")
    load.model = load.model or text(dict_of(first_record.get("model")).get("name"))
    return [load]


def _merged(records: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the result of a benchmark as it writes it otherwise."""
    result: dict[str, Any] = {}
    for record in records:
        metric = dict_of(record.get("metric"))
        values, name = list_of(metric.get("benchmark_values")), str(metric.get("name"))
        measured = {"latencies": values} if name == LATENCY else {name: item(values, 0)}
        result = {**result, **dict_of(metric.get("extra_info")), **measured}
    return result


def _load_of(result: Mapping[str, Any], arguments: Mapping[str, Any], ticket: Ticket) -> LoadBuilder | None:
    if "latencies" in result and "avg_latency" in result:
        return offline_bench.latency_of(result, ticket, arguments)
    if "requests_per_second" in result and "elapsed_time" in result:
        return offline_bench.throughput_of(result, ticket)
    if any(startup_bench.NAME.fullmatch(name) for name in result):
        return startup_bench.load_of_result(result, ticket)
    return serving.load_with_results(result, ticket, 1) if serving.is_complete(result) else None
