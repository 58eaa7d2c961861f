"""AIPerf's profile: the JSON and CSV of all requests, and the JSON lines of each one. Its deviations divide by n.

Its `inter_token_latency` is a request's time after its first token over the tokens after it: our time per output token;
`inter_chunk_latency` is the time between two pieces. It counts tokens with its own tokenizer; where a record says what
the server counted, a request has that.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import Source
from collectors.imports.results.values import count, dict_of, item, list_of, moment, number, text

TOOL = "aiperf"
METRICS = {
    "request_latency": "e2e_ms",
    "time_to_first_token": "ttft_ms",
    "inter_token_latency": "tpot_ms",
    "inter_chunk_latency": "itl_ms",
    "output_token_throughput": "output_tps",
    "output_token_throughput_per_user": "decode_tps",
    "e2e_output_token_throughput": "e2e_tps",
    "prefill_throughput_per_user": "prompt_tps_per_request",
    "input_token_throughput": "prompt_tps",
    "total_token_throughput": "total_tps",
    "request_throughput": "request_tps",
    "input_sequence_length": "prompt_tokens",
    "output_sequence_length": "completion_tokens",
    "request_count": "requests",
    "error_request_count": "failed_requests",
    "benchmark_duration": "duration_s",
}
TITLES = {  # of the CSV -> the name in the JSON
    "Request Latency (ms)": "request_latency",
    "Time to First Token (ms)": "time_to_first_token",
    "Inter Token Latency (ms)": "inter_token_latency",
    "Inter Chunk Latency (ms)": "inter_chunk_latency",
    "Output Token Throughput (tokens/sec)": "output_token_throughput",
    "Output Token Throughput Per User (tokens/sec/user)": "output_token_throughput_per_user",
    "E2E Output Token Throughput (tokens/sec/user)": "e2e_output_token_throughput",
    "Prefill Throughput Per User (tokens/sec/user)": "prefill_throughput_per_user",
    "Input Token Throughput (tokens/sec)": "input_token_throughput",
    "Total Token Throughput (tokens/sec)": "total_token_throughput",
    "Request Throughput (requests/sec)": "request_throughput",
    "Input Sequence Length (tokens)": "input_sequence_length",
    "Output Sequence Length (tokens)": "output_sequence_length",
    "Request Count": "request_count",
    "Error Request Count": "error_request_count",
    "Benchmark Duration (sec)": "benchmark_duration",
}
UNITS = {"ms": 1.0, "sec": 1e3, "s": 1e3, "ns": 1e-6, "us": 1e-3}  # to milliseconds, of the latencies
LATENCIES = {"request_latency", "time_to_first_token", "inter_token_latency", "inter_chunk_latency"}
TOTALS = {"request_count", "error_request_count", "benchmark_duration"}
STATISTICS = {"median": "p50", "min": "min", "max": "max", "p90": "p90", "p95": "p95", "p99": "p99"}
WARMUP = re.compile("warm", re.IGNORECASE)
WARM, MEASURED = "warmup", "measure"


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    start = head.lstrip()
    is_json = start.startswith("{") and '"aiperf_version"' in head and '"request_throughput"' in head
    return is_json or start.startswith(('{"metadata":{"session_num"', "Metric,avg,min,max,sum"))


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The load of a file; raises ImportRefusedError."""
    start = source.head.lstrip()
    if start.startswith('{"metadata"'):
        load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.dated)
        add_requests(load, source, None)
        return [load]
    return [read_csv(source, ticket) if start.startswith("Metric,") else read_profile(source, ticket)]


def read_profile(source: Source, ticket: Ticket) -> LoadBuilder:
    """The load of profile_export_aiperf.json."""
    profile = dict_of(source.json())
    asked = dict_of(profile.get("input_config"))
    phase = dict_of(
        ([one for one in list_of(asked.get("phases")) if dict_of(one).get("kind") == "profiling"] or [{}])[-1]
    )
    endpoint = dict_of(asked.get("endpoint"))
    load = LoadBuilder(
        ticket, TOOL, text(profile.get("aiperf_version")), TOOL, _began(profile) or ticket.dated,
        params={"phase": dict(phase), "datasets": asked.get("datasets"), "endpoint": dict(endpoint)},
        planned_requests=count(phase.get("requests")),
        model=text(dict_of(_first(dict_of(asked.get("models")).get("items"))).get("name")),
        base_url=text(_first(endpoint.get("urls"))),
    )  # fmt: skip
    if profile.get("was_cancelled") is True or profile.get("is_complete") is False:
        load.notes.append("AIPerf says that it was broken off.")
    point = point_of(phase)
    for name in METRICS:
        if given := dict_of(profile.get(name)):
            _add_metric(load, point, name, given)
    return load


def _began(profile: Mapping[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(profile.get("start_time"))).astimezone()
    except ValueError:
        return None


def _first(values: Any) -> Any:
    return item(list_of(values), 0)


def point_of(phase: Mapping[str, Any]) -> Point:
    """What the requests were sent under."""
    at_once, rate = count(phase.get("concurrency")), number(phase.get("rate"))
    name = f"{at_once} at once" if at_once else f"{rate:g} requests/s" if rate else "all requests"
    return Point(name, at_once)


def _add_metric(load: LoadBuilder, point: Point, name: str, given: Mapping[str, Any]) -> None:
    metric = METRICS[name]
    factor = UNITS.get(str(given.get("unit")), 1.0) if name in LATENCIES else 1.0
    if name in TOTALS:
        load.result(point, metric, "total", given.get("avg"))
        return
    n = count(given.get("count"))
    load.result(point, metric, "mean", given.get("avg"), factor=factor, n=n, population_sd=given.get("std"))
    load.results(point, metric, given, STATISTICS, factor=factor, n=n)


# --- CSV --------------------------------------------------------------------------------------------------------------
def read_csv(source: Source, ticket: Ticket) -> LoadBuilder:
    """The load of profile_export_aiperf.csv, whose numbers are rounded to two places."""
    whole = source.text()
    if not whole.endswith("\n"):
        raise source.refusal(whole.count("\n") + 1, "it is cut off here")
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.dated)
    for title, given in _csv_rows(whole):
        if name := TITLES.get(title):
            _add_metric(load, Point("all requests"), name, given)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} holds no metric of AIPerf's.")
    return load


def _csv_rows(whole: str) -> Iterator[tuple[str, dict[str, Any]]]:
    heads: list[str] = []
    for row in csv.reader(io.StringIO(whole, newline="")):
        if row[:1] == ["Metric"]:
            heads = ["avg" if head == "Value" else head for head in row[1:]]
        elif row:
            yield row[0], {head: _float(cell) for head, cell in zip(heads, row[1:], strict=False) if cell}


def _float(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell


# --- one record a request ---------------------------------------------------------------------------------------------
def add_requests(load: LoadBuilder, source: Source, at_once: int | None) -> None:
    """The requests of profile_export.jsonl, in the order in which they were sent; raises ImportRefusedError."""
    records = [(line, dict_of(one)) for line, one in source.json_lines()]
    for line, one in records:
        if not dict_of(one.get("metadata")) or not isinstance(one.get("metrics"), dict):
            raise source.refusal(line, "this is no record of AIPerf's, as profile_export.jsonl has them")
    rows = sorted((one for _, one in records), key=lambda one: _sent_ns(one) or 0.0)
    began = moment((_sent_ns(rows[0]) or 0.0) / 1e9) if rows else None
    if began is None:
        raise ImportRefusedError(f"{source.name} holds no request with its time.")
    load.ts = min(load.ts, began)
    if at_once is None:
        at_once = _most_in_flight(rows)
        load.notes.append(
            f"The records do not say what was asked for; at most {at_once} requests were in flight at once."
        )
    warm, measured = [one for one in rows if _is_warmup(one)], [one for one in rows if not _is_warmup(one)]
    for place, (kind, of_phase) in enumerate(
        (kind, some) for kind, some in ((WARM, warm), (MEASURED, measured)) if some
    ):
        since = moment((_sent_ns(of_phase[0]) or 0.0) / 1e9) or began
        for sequence, one in enumerate(of_phase):
            _add_request(load, one, (place, sequence), since, at_once)
        _add_phase(load, of_phase, (place, kind), since, at_once)


def _is_warmup(record: Mapping[str, Any]) -> bool:
    return WARMUP.search(str(dict_of(record.get("metadata")).get("benchmark_phase"))) is not None


def _most_in_flight(rows: Iterable[Mapping[str, Any]]) -> int:
    """By their own times."""
    abouts = [dict_of(record.get("metadata")) for record in rows]
    steps = [(number_of_time(about.get("request_start_ns")), 1) for about in abouts]
    steps += [(number_of_time(about.get("request_end_ns")), -1) for about in abouts]
    known = sorted((when, step) for when, step in steps if when is not None)
    return max(accumulate((step for _, step in known), initial=0)) or 1


def _sent_ns(record: Mapping[str, Any]) -> float | None:
    return number_of_time(dict_of(record.get("metadata")).get("request_start_ns"))


def number_of_time(value: Any) -> float | None:
    """Nanoseconds since the epoch are more than a double counts one by one; here that is near enough."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62 else None


def _value(record: Mapping[str, Any], name: str) -> Any:
    return dict_of(dict_of(record.get("metrics")).get(name)).get("value")


def _add_request(
    load: LoadBuilder, record: Mapping[str, Any], place: tuple[int, int], began: datetime, at_once: int
) -> None:
    """`place` is the number of its phase and its own within that; `began` is when that phase did."""
    about, error = dict_of(record.get("metadata")), dict_of(record.get("error"))
    sent = moment((_sent_ns(record) or 0.0) / 1e9) or began
    said = text(error.get("message")) or text(error.get("type"))
    used, own = count(_value(record, "usage_completion_tokens")), count(_value(record, "output_sequence_length"))
    asked, own_asked = count(_value(record, "usage_prompt_tokens")), count(_value(record, "input_sequence_length"))
    cached = count(_value(record, "usage_prompt_cache_read_tokens"))
    load.request(
        phase=WARM if _is_warmup(record) else MEASURED, prompt_class="-", stream=0,
        concurrency=at_once, sent_at=sent, since_phase_s=(sent - began).total_seconds(), phase_index=place[0],
        sequence=place[1],
        ttft_ms=number(_value(record, "time_to_first_token")), total_ms=number(_value(record, "request_latency")),
        decode_ms=number(_value(record, "decode_duration")), prompt_tokens=own_asked if asked is None else asked,
        completion_tokens=own if used is None else used,
        token_source="usage" if used is not None else "tokenizer" if own is not None else None,
        chunks=count(_value(record, "http_req_chunks_received")),
        error_kind=_kind(about, error, said), error_text=said,
        extra={} if cached is None else {"cached_prompt_tokens": cached},
    )  # fmt: skip


def _kind(about: Mapping[str, Any], error: Mapping[str, Any], said: str | None) -> str | None:
    if about.get("was_cancelled") is True:
        return "cancelled"
    return error_kind(f"{error.get('code') or ''} {error.get('type') or ''} {said or ''}") if error else None


def _add_phase(
    load: LoadBuilder, rows: list[Mapping[str, Any]], which: tuple[int, str], began: datetime, at_once: int
) -> None:
    ends = [number_of_time(dict_of(record.get("metadata")).get("request_end_ns")) for record in rows]
    ended = moment(max(filter(None, ends), default=0.0) / 1e9) or began
    title = "warm-up" if which[1] == WARM else "profiling"
    load.phase(
        ts=ended, phase_index=which[0], title=title, kind=which[1], concurrency=at_once, began_at=began,
        duration_s=(ended - began) / timedelta(seconds=1), planned_requests=len(rows), is_complete=True,
    )  # fmt: skip
