"""Reads the JSON of llm-load-test: its summary and its requests.

Its times are in milliseconds. Its `tpot` is a request's time over all of its tokens, its `itl` is that after the first
token over the later ones; its `throughput` counts the tokens that came within the planned time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import after, count, cut, dict_of, list_of, number, text, time_of

TOOL = "llm-load-test"
NEEDED = ('"results"', '"output_tokens_before_timeout"', '"response_time"')
METRICS = {
    "ttft": "ttft_ms", "tt_ack": "ttfr_ms", "itl": "tpot_ms", "tpot": "e2e_per_token_ms", "response_time": "e2e_ms",
    "input_tokens": "prompt_tokens", "output_tokens": "completion_tokens",
}  # fmt: skip
STATISTICS = {
    "mean": "mean", "median": "median", "min": "min", "max": "max",
    "p80": "percentile_80", "p90": "percentile_90", "p95": "percentile_95", "p99": "percentile_99",
}  # fmt: skip
TOTALS = {
    "throughput": ("output_tps", "mean"),
    "full_duration": ("duration_s", "total"),
    "total_failures": ("failed_requests", "total"),
}
SETTINGS = ("dataset", "load_options", "plugin", "extra_metadata", "warmup")


def recognise(head: str) -> bool:
    """Return whether JSON begins so and has such requests."""
    return head.lstrip().startswith("{") and all(name in head for name in NEEDED)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError if it has no summary."""
    output = dict_of(source.json())
    config, summary = dict_of(output.get("config")), dict_of(output.get("summary"))
    requests = [dict_of(row) for row in list_of(output.get("results"))]
    if not summary:
        raise ImportRefusedError(f"{source.name} is of {TOOL}, but has no summary.")
    known_times = [time for row in requests if (time := time_of(row.get("start_time")))]
    options = dict_of(config.get("plugin_options"))
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, min(known_times, default=ticket.file_date),
        params={name: cut(config[name]) for name in SETTINGS if name in config},
        model=text(options.get("model_name")), base_url=text(options.get("host")),
    )  # fmt: skip
    concurrency = count(dict_of(config.get("load_options")).get("concurrency"))
    point = MeasurementPoint(f"{concurrency} at once" if concurrency else "all requests", concurrency)
    _add_summary(load, point, summary)
    _add_requests(load, requests, concurrency or 1)
    return [load]


def _add_summary(load: LoadBuilder, point: MeasurementPoint, summary: Mapping[str, Any]) -> None:
    total, failed = count(summary.get("total_requests")), count(summary.get("total_failures"))
    if total is not None and failed is not None and failed <= total:
        load.result(point, "requests", "total", total - failed)
    for name, (metric, statistic) in TOTALS.items():
        if name in summary:
            load.result(point, metric, statistic, summary[name])
    for name, metric in METRICS.items():
        values = dict_of(summary.get(name))
        if number(values.get("mean")) is not None:  # without streaming there is no first token
            load.results(point, metric, values, STATISTICS)


def _add_requests(load: LoadBuilder, requests: Sequence[Mapping[str, Any]], concurrency: int) -> None:
    for sequence, row in enumerate(requests):
        sent_at = time_of(row.get("start_time")) or load.ts
        since_s = (sent_at - load.ts).total_seconds()
        error_words = [str(row[name]) for name in ("error_code", "error_text") if row.get(name)]
        error_text = " ".join(error_words)[:2_000] or None
        load.request(
            phase="measure", prompt_class="-", stream=count(row.get("user_id")) or 0, concurrency=concurrency,
            sent_at=after(load.ts, since_s), since_phase_s=since_s, phase_index=0, sequence=sequence,
            ttft_ms=number(row.get("ttft")), total_ms=number(row.get("response_time")),
            prompt_tokens=count(row.get("input_tokens")), completion_tokens=count(row.get("output_tokens")),
            error_kind=error_kind(error_text) if error_text else None, error_text=error_text,
        )  # fmt: skip
