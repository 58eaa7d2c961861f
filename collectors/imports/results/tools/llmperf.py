"""Reads LLMPerf: its summary (`*_summary.json`) and its requests (`*_individual_responses.json`).

Its latencies are in seconds, its deviations divide by n - 1. It counts tokens with a tokenizer of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.request_times import most_in_flight
from collectors.imports.results.values import after, count, cut, dict_of, number, scaled, text, time_of

TOOL = "LLMPerf"
METRICS = {
    "inter_token_latency_s": ("itl_ms", 1e3),
    "ttft_s": ("ttft_ms", 1e3),
    "end_to_end_latency_s": ("e2e_ms", 1e3),
    "request_output_throughput_token_per_s": ("e2e_tps", 1.0),
    "number_input_tokens": ("prompt_tokens", 1.0),
    "number_output_tokens": ("completion_tokens", 1.0),
}
TOTALS = {
    "results_mean_output_throughput_token_per_s": ("output_tps", "mean", 1.0),
    "results_num_completed_requests": ("requests", "total", 1.0),
    "results_num_completed_requests_per_min": ("request_tps", "mean", 1 / 60),
    "results_number_errors": ("failed_requests", "total", 1.0),
}
STATISTIC = re.compile(
    r"results_(?P<what>[a-z_]{3,60}?)_(?:quantiles_)?(?P<statistic>p\d{1,2}(?:\.\d)?|mean|min|max|stddev)"
)
UNIT = re.compile(r"_(?P<unit>token_per_s|s)$")
NAMES = {"p50": "median"}
RESPONSE_MARKS = ('"end_to_end_latency_s"', '"number_output_tokens"', '"request_output_throughput_token_per_s"')
NO_TIMES = {
    "sent_at": "not in the file: the time of the first request",
    "concurrency": "not in the file: the number of requests",
}


def recognise(head: str) -> bool:
    """Return whether a file is such a summary, or a list of such requests."""
    if head.lstrip().startswith("["):
        return all(mark in head for mark in RESPONSE_MARKS)
    is_flat = '"num_concurrent_requests"' in head and '"results_' in head
    is_nested = '"num_concurrent_requests"' in head and '"results"' in head and '"inter_token_latency_s"' in head
    return head.lstrip().startswith("{") and (is_flat or is_nested)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError."""
    value = source.json()
    if isinstance(value, list):
        return [_load_of_responses(source, value, ticket)]
    load = load_of_summary(dict(_flat(dict_of(value))), ticket, 0)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is a summary of LLMPerf, but has no result.")
    return [load]


def load_of_summary(summary: Mapping[str, Any], ticket: Ticket, index: int) -> LoadBuilder:
    """Return the load of a flat summary."""
    concurrency = count(summary.get("num_concurrent_requests"))
    sizes = [count(summary.get(f"mean_{side}_tokens")) for side in ("input", "output")]
    shape = f"pp{sizes[0]} tg{sizes[1]} " if None not in sizes else ""
    name = f"{concurrency} at once" if concurrency else "all requests"
    point = MeasurementPoint(f"{shape}{name}", concurrency, sizes[0], sizes[1])
    load = LoadBuilder(
        ticket, TOOL, text(summary.get("version"), 60), TOOL, time_of(summary.get("timestamp")) or ticket.file_date,
        number=index, model=text(summary.get("model")),
        planned_requests=count(summary.get("results_num_requests_started")),
    )  # fmt: skip
    n = count(summary.get("results_num_completed_requests"))
    for name, value in summary.items():
        _add(load, point, name, value, summary, n)
    return load


def _flat(values: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the values under the names of LLMPerf's flat summary."""
    for name, value in values.items():
        if isinstance(value, dict) and depth < 4:
            yield from _flat(value, f"{prefix}{name}_", depth + 1)
        else:
            yield (
                f"{prefix}{name}",
                number_or_text(value) if isinstance(value, str) and prefix + name != "version" else value,
            )


def _add(
    load: LoadBuilder, point: MeasurementPoint, name: str, value: Any, summary: Mapping[str, Any], n: int | None
) -> None:
    match = STATISTIC.fullmatch(name)
    if name in TOTALS:
        metric, statistic, factor = TOTALS[name]
        load.result(point, metric, statistic, value, factor=factor)
    elif match and match["what"] in METRICS:
        _add_statistic(load, point, match, value, summary, n)
    elif match and number(value) is not None:
        unit = UNIT.search(match["what"])
        load.result(point._replace(name=f"{point.name}: {match['what']}"), STATED, match["statistic"], value,
                    unit=unit["unit"] if unit else "1")  # fmt: skip
    elif name not in ("model", "version", "timestamp") and value is not None:
        load.params[name] = cut(value)


def _add_statistic(
    load: LoadBuilder, point: MeasurementPoint, match: re.Match[str], value: Any, summary: Mapping[str, Any],
    n: int | None,
) -> None:  # fmt: skip
    metric, factor = METRICS[match["what"]]
    if match["statistic"] == "stddev":
        return  # belongs to the mean
    sd = number(summary.get(f"results_{match['what']}_stddev")) if match["statistic"] == "mean" else None
    load.result(
        point, metric, NAMES.get(match["statistic"], match["statistic"]), value, factor=factor, n=n,
        sd=None if sd is None else sd * factor,
    )  # fmt: skip


# --- single responses -------------------------------------------------------------------------------------------------
def _load_of_responses(source: ResultFile, values: Sequence[Any], ticket: Ticket) -> LoadBuilder:
    """Return the requests in the order of the file; older versions state no times."""
    responses = [dict_of(value) for value in values]
    if not all("end_to_end_latency_s" in response for response in responses):
        raise ImportRefusedError(f"{source.name} is of LLMPerf, but one of its responses has no latency.")
    times_s = [number(response.get("start_time")) for response in responses]
    known_times_s = [time_s for time_s in times_s if time_s is not None]
    started_at = time_of(min(known_times_s)) if len(known_times_s) == len(responses) else None
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, started_at or ticket.file_date, planned_requests=len(responses),
    )  # fmt: skip
    spans = [
        (number(row.get("start_time")) or 0.0, number(row.get("end_to_end_latency_s")) or 0.0) for row in responses
    ]
    concurrency = most_in_flight(spans) if started_at else len(responses)
    for sequence, response in enumerate(responses):
        since_s = known_times_s[sequence] - min(known_times_s) if started_at else None
        load.request(
            **_request(response), phase="measure", prompt_class="-", stream=0, concurrency=concurrency,
            sent_at=after(load.ts, since_s or 0.0), since_phase_s=since_s, phase_index=0, sequence=sequence,
            extra={} if started_at else dict(NO_TIMES),
        )  # fmt: skip
    return load


def _request(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request; one that failed has zeros instead of its values."""
    error_words = [str(response[name]) for name in ("error_code", "error_msg") if response.get(name)]
    if error_words:
        error_text = " ".join(error_words)[:2_000]
        return {"error_kind": error_kind(error_text), "error_text": error_text}
    return {
        "ttft_ms": scaled(response.get("ttft_s"), 1e3),
        "total_ms": scaled(response.get("end_to_end_latency_s"), 1e3),
        "prompt_tokens": count(response.get("number_input_tokens")),
        "completion_tokens": count(response.get("number_output_tokens")),
        "token_source": "tokenizer",
    }
