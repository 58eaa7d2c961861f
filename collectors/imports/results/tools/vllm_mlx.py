"""Reads the JSON of the benchmark of vllm-mlx, whose speeds are those of one stream."""

from __future__ import annotations

import re
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import cut, dict_of, text

TOOL = "vllm-mlx bench"
POINT = MeasurementPoint("all runs, one at a time", 1)
TOTALS = {
    "num_runs": ("requests", "total"),
    "total_prompt_tokens": ("prompt_tokens", "total"),
    "total_generated_tokens": ("completion_tokens", "total"),
    "total_time_seconds": ("duration_s", "total"),
    "requests_per_second": ("request_tps", "mean"),
}
LATENCIES = {"ttft_ms": ("ttft_ms", 1.0), "tpot_ms": ("tpot_ms", 1.0), "latency_seconds": ("e2e_ms", 1e3)}
SPEED = re.compile(r"(?P<what>generation|processing)_(?P<statistic>mean|max|min|p\d{1,2})")
SPEEDS = {"generation": "decode_tps", "processing": "prompt_tps_per_request"}
TOTAL_SPEED = "total_throughput"


def recognise(head: str) -> bool:
    """Return whether a file has the names of such a result."""
    return head.lstrip().startswith("{") and '"num_runs"' in head and '"generation_mean"' in head


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a result; raises ImportRefusedError if it has none."""
    result = dict_of(source.json())
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, model=text(result.get("model")))
    for name, value in result.items():
        _add(load, name, value)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is of {TOOL}, but has no result.")
    return [load]


def _add(load: LoadBuilder, name: str, value: Any) -> None:
    if name in TOTALS:
        load.result(POINT, *TOTALS[name], value)
    elif name in LATENCIES:
        metric, factor = LATENCIES[name]
        for statistic, latency in dict_of(value).items():
            load.result(POINT, metric, _statistic(statistic), latency, factor=factor)
    elif name == "tokens_per_second":
        for speed_name, speed in dict_of(value).items():
            _add_speed(load, speed_name, speed)
    elif isinstance(value, dict):
        load.params |= {f"{name}.{inner_name}": cut(inner_value) for inner_name, inner_value in value.items()}
    elif name != "model" and value is not None:
        load.params[name] = cut(value)


def _add_speed(load: LoadBuilder, name: str, value: Any) -> None:
    match = SPEED.fullmatch(name)
    if match:
        load.result(POINT, SPEEDS[match["what"]], _statistic(match["statistic"]), value)
    elif name == TOTAL_SPEED:
        load.result(POINT, "total_tps", "mean", value)
    else:
        load.params[f"tokens_per_second.{name}"] = cut(value)


def _statistic(name: str) -> str:
    return "median" if name == "p50" else name
