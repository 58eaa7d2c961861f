"""Reads the profiles of AIPerf and GenAI-Perf: JSON and CSV of all requests, JSON lines of each request.

Their deviations divide by n.

Its `inter_token_latency` is a request's time after its first token divided by the later tokens: `tpot_ms`;
`inter_chunk_latency` is the time between two pieces. It counts tokens with its own tokenizer; the server's count is
used if the record has it.
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
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, cut, dict_of, item, list_of, number, signed_number, text, time_of

TOOL = "aiperf"
GENAI_PERF = "GenAI-Perf"
METRICS = {
    "request_latency": "e2e_ms",
    "time_to_first_token": "ttft_ms",
    "inter_token_latency": "tpot_ms",
    "inter_chunk_latency": "itl_ms",
    "output_token_throughput": "output_tps",
    "output_token_throughput_per_user": "decode_tps",
    "output_token_throughput_per_request": "e2e_tps",
    "e2e_output_token_throughput": "e2e_tps",
    "prefill_throughput_per_user": "prompt_tps_per_request",
    "input_token_throughput": "prompt_tps",
    "total_token_throughput": "total_tps",
    "request_throughput": "request_tps",
    "request_goodput": "goodput_rps",
    "goodput": "goodput_rps",
    "input_sequence_length": "prompt_tokens",
    "num_input_token": "prompt_tokens",
    "num_input_tokens": "prompt_tokens",
    "total_isl": "prompt_tokens",
    "total_input_sequence_length": "prompt_tokens",
    "output_sequence_length": "completion_tokens",
    "num_output_token": "completion_tokens",
    "num_output_tokens": "completion_tokens",
    "total_osl": "completion_tokens",
    "total_output_sequence_length": "completion_tokens",
    "request_count": "requests",
    "error_request_count": "failed_requests",
    "benchmark_duration": "duration_s",
    "effective_concurrency": "mean_concurrency",
    "spec_decode_acceptance_length": "acceptance_length",
    "acceptance_length": "acceptance_length",
    "spec_decode_draft_acceptance_rate": "acceptance_rate",
    "draft_acceptance_rate": "acceptance_rate",
}
UNITS = {"ms": 1.0, "sec": 1e3, "s": 1e3, "ns": 1e-6, "us": 1e-3}  # to milliseconds
LATENCIES = {"request_latency", "time_to_first_token", "inter_token_latency", "inter_chunk_latency"}
TOTALS = {
    "request_count", "error_request_count", "benchmark_duration", "total_isl", "total_osl",
    "total_input_sequence_length", "total_output_sequence_length",
}  # fmt: skip
STATISTIC = re.compile(r"avg|min|max|p\d{1,2}(?:\.\d{1,3})?|p_\d{1,2}")
STATISTICS = {"avg": "mean", "p50": "median"}
CSV_START = re.compile(r'"?Metric"?(?P<delimiter>[,;\t])"?avg"?(?P=delimiter)')  # a spreadsheet writes the others
DECIMAL_COMMA = re.compile(r"\d{1,3}(?:\.\d{3})*,\d{1,2}|\d{1,15},\d{1,2}")
TITLE = re.compile(r"(?P<name>.{1,100}?) ?(?:\((?P<unit>[\w/ %]{1,24})\))?")
TOTAL_NAME = re.compile(r"total_\w{1,60}|\w{1,60}_count")  # of a single value
SIGNED_NAME = re.compile(r"(?:^|_)(?:diff|difference|delta|offset|skew)(?:_|$)")
ROUNDING = 0.005  # of a CSV's means
GPUS_NOTE = "The table of the GPUs below the results was left out."
WARMUP = re.compile("warm", re.IGNORECASE)
WARMUP_KIND, MEASURE_KIND = "warmup", "measure"


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of such a file."""
    start = head.lstrip()
    names = ('"request_throughput"', '"request_latency"', '"input_config"', '"unit"')
    has_names = '"aiperf_version"' in head or all(name in head for name in names)
    is_json = start.startswith("{") and '"request_throughput"' in head and has_names
    return is_json or start.startswith('{"metadata":{"session_num"') or CSV_START.match(start) is not None


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError."""
    start = source.head.lstrip()
    if start.startswith('{"metadata"'):
        load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
        add_requests(load, source, None)
        return [load]
    return [read_csv(source, ticket) if CSV_START.match(start) else read_profile(source, ticket)]


def read_profile(source: ResultFile, ticket: Ticket) -> LoadBuilder:
    """Return the load of profile_export_aiperf.json, or of profile_export_genai_perf.json."""
    profile = dict_of(source.json())
    config = dict_of(profile.get("input_config"))
    phase = dict_of(
        ([entry for entry in list_of(config.get("phases")) if dict_of(entry).get("kind") == "profiling"] or [{}])[-1]
    )
    early_phase = dict_of(config.get("loadgen"))  # of early versions
    endpoint = dict_of(config.get("endpoint"))
    is_aiperf = "aiperf_version" in profile or "loadgen" in config or "was_cancelled" in profile
    tool = TOOL if is_aiperf else GENAI_PERF
    params = {"phase": dict(phase or early_phase), "datasets": config.get("datasets"), "endpoint": dict(endpoint)}
    load = LoadBuilder(
        ticket, tool, text(profile.get("aiperf_version")), tool, _started_at(profile) or ticket.file_date,
        params=params if is_aiperf else {name: cut(value) for name, value in config.items() if value is not None},
        planned_requests=next(filter(None, map(count, (
            phase.get("requests"), early_phase.get("request_count"), config.get("request_count"),
        ))), None),
        model=_model_of(config, endpoint),
        base_url=text(_first(endpoint.get("urls")) or endpoint.get("url") or config.get("url") or config.get("u")),
    )  # fmt: skip
    if profile.get("was_cancelled") is True or profile.get("is_complete") is False:
        load.notes.append("AIPerf reports that it was interrupted.")
    point = point_of(phase or early_phase or _stimulus_of(config))
    requests = count(dict_of(profile.get("request_count")).get("avg"))
    for name, values in profile.items():
        if isinstance(values, dict) and signed_number(values.get("avg")) is not None:
            add_metric(load, point, name, values, text(values.get("unit")), _count_of(values, requests))
    return load


def _model_of(config: Mapping[str, Any], endpoint: Mapping[str, Any]) -> str | None:
    """Return the only model of a profile, which each version names elsewhere."""
    items = list_of(dict_of(config.get("models")).get("items"))
    names = [dict_of(entry).get("name") for entry in items]
    lists = (names, endpoint.get("model_names"), config.get("model_names"), config.get("model"))
    return next((name for values in lists if (name := text(_first(values)))), None) or text(config.get("model"))


def _stimulus_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the load that GenAI-Perf was asked for."""
    stimulus = dict_of(dict_of(config.get("perf_analyzer")).get("stimulus"))
    return {"concurrency": config.get("concurrency") or stimulus.get("concurrency"), "rate": config.get("request_rate")}


def _started_at(profile: Mapping[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(profile.get("start_time"))).astimezone()
    except ValueError:
        return None


def _first(values: Any) -> Any:
    return item(list_of(values), 0)


def point_of(phase: Mapping[str, Any]) -> MeasurementPoint:
    """Return the conditions of a phase's requests."""
    concurrency, rate = count(phase.get("concurrency")), number(phase.get("rate"))
    name = f"{concurrency} at once" if concurrency else f"{rate:g} requests/s" if rate else "all requests"
    return MeasurementPoint(name, concurrency)


def add_metric(
    load: LoadBuilder, point: MeasurementPoint, name: str, values: Mapping[str, Any], unit: str | None, n: int | None,
    title: str | None = None, is_of_single_values: bool = False,
) -> None:  # fmt: skip
    """Add the statistics of a metric; one without a Pitwall name is stated with its unit, under its title.

    `n`: of the values behind them, if it is known. `is_of_single_values`: the table has no statistics at all.
    """
    metric, factor = METRICS.get(name), 1.0
    if name in LATENCIES:
        factor = UNITS.get(unit or "", 0.0)
    elif metric == "acceptance_rate":
        factor = 0.01 if unit == "%" else 1.0
    if metric is None or not factor:
        metric, factor, point = STATED, 1.0, point._replace(name=f"{point.name}: {title or name}")
    stated = {key: value for key, value in values.items() if STATISTIC.fullmatch(key) and value is not None}
    is_single = metric == STATED and set(stated) == {"avg"}
    is_total = name in TOTALS or (is_single and TOTAL_NAME.fullmatch(name) is not None)
    of_mean = "total" if is_total else STATED if is_single and is_of_single_values else "mean"
    for key, value in stated.items():
        statistic = of_mean if key == "avg" else STATISTICS.get(key, key)
        load.result(
            point, metric, statistic, value, factor=factor, n=None if is_total else n,
            population_sd=values.get("std") if statistic == "mean" else None,
            unit=(unit or "1") if metric == STATED else None, is_signed=SIGNED_NAME.search(name) is not None,
        )  # fmt: skip


def _count_of(values: Mapping[str, Any], requests: int | None) -> int | None:
    """Return the number of values behind a mean: as stated, or that of all requests if sum and mean prove it."""
    mean, total = signed_number(values.get("avg")), signed_number(values.get("sum"))
    if (stated := count(values.get("count"))) is not None or not (requests and mean and total):
        return stated
    error = requests * ROUNDING / abs(mean)
    return requests if error < 0.5 and abs(total / mean - requests) <= error + 1e-6 * requests else None


def name_of(title: str) -> str:
    """Return the name in the JSON of a metric that a table calls so."""
    return title.strip().lower().replace(" ", "_").replace("-", "_")


# --- CSV --------------------------------------------------------------------------------------------------------------
def read_csv(source: ResultFile, ticket: Ticket) -> LoadBuilder:
    """Return the load of a CSV, whose numbers are rounded to two decimal places; GenAI-Perf's has no deviations."""
    content = source.text()
    if not content.endswith("\n"):
        raise source.refusal(content.count("\n") + 1, "it is cut off here")
    heads = content.lstrip().partition("\n")[0]
    tool = TOOL if re.search(r"\bstd\b", heads) else GENAI_PERF
    load = LoadBuilder(ticket, tool, None, tool, ticket.file_date)
    with source.refusing_bad_csv():
        rows = list(_csv_rows(content))
    requests = next((count(values.get("avg")) for title, values in rows if name_of(title) == "request_count"), None)
    point = MeasurementPoint("all requests")
    for title, values in rows:
        if match := TITLE.fullmatch(title):
            n = _count_of(values, requests)
            add_metric(
                load, point, name_of(match["name"]), values, match["unit"], n, is_of_single_values="Value" in values
            )
        else:
            load.notes.append(GPUS_NOTE)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} has no metric of {tool}.")
    return load


def _csv_rows(content: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield title and values of each metric; an empty title stands for the table of the GPUs."""
    column_names: list[str] = []
    match = CSV_START.match(content.lstrip())
    rows = list(csv.reader(io.StringIO(content, newline=""), delimiter=match["delimiter"] if match else ","))
    is_comma_decimal = any(DECIMAL_COMMA.fullmatch(cell.strip()) for row in rows for cell in row[1:])
    for row in rows:
        if row[:1] == ["Metric"]:
            column_names = row[1:]
        elif row and "GPU_Index" in row:
            yield "", {}
            return
        elif row:
            cells = zip(column_names, row[1:], strict=False)
            values = {head: _float(cell, is_comma_decimal) for head, cell in cells if cell}
            yield row[0], values | ({"avg": values["Value"]} if "Value" in values else {})


def _float(cell: str, is_comma_decimal: bool) -> Any:
    plain_cell = cell.replace(".", "").replace(",", ".") if is_comma_decimal else cell.replace(",", "")
    try:
        return float(plain_cell)
    except ValueError:
        return cell


# --- one record per request -------------------------------------------------------------------------------------------
def add_requests(load: LoadBuilder, source: ResultFile, concurrency: int | None) -> None:
    """Add the requests of profile_export.jsonl in the order in which they were sent; raises ImportRefusedError."""
    records = [(line, dict_of(record)) for line, record in source.json_lines()]
    for line, record in records:
        if not dict_of(record.get("metadata")) or not isinstance(record.get("metrics"), dict):
            raise source.refusal(line, "this is not a record of AIPerf's profile_export.jsonl")
    rows = sorted((record for _, record in records), key=lambda record: _sent_ns(record) or 0.0)
    started_at = time_of((_sent_ns(rows[0]) or 0.0) / 1e9) if rows else None
    if started_at is None:
        raise ImportRefusedError(f"{source.name} has no request with a time.")
    load.ts = min(load.ts, started_at)
    if concurrency is None:
        concurrency = _max_in_flight(rows)
        load.notes.append(
            f"The records lack the requested concurrency; at most {concurrency} requests were in flight at once."
        )
    warmup_rows, measured_rows = (
        [record for record in rows if _is_warmup(record)],
        [record for record in rows if not _is_warmup(record)],
    )
    for phase_index, (kind, phase_rows) in enumerate(
        (kind, phase_rows)
        for kind, phase_rows in ((WARMUP_KIND, warmup_rows), (MEASURE_KIND, measured_rows))
        if phase_rows
    ):
        phase_start = time_of((_sent_ns(phase_rows[0]) or 0.0) / 1e9) or started_at
        for sequence, record in enumerate(phase_rows):
            _add_request(load, record, (phase_index, sequence), phase_start, concurrency)
        _add_phase(load, phase_rows, (phase_index, kind), phase_start, concurrency)


def _is_warmup(record: Mapping[str, Any]) -> bool:
    return WARMUP.search(str(dict_of(record.get("metadata")).get("benchmark_phase"))) is not None


def _max_in_flight(rows: Iterable[Mapping[str, Any]]) -> int:
    """Return the maximum number of concurrent requests by their own times."""
    metadata_list = [dict_of(record.get("metadata")) for record in rows]
    steps = [(time_ns(metadata.get("request_start_ns")), 1) for metadata in metadata_list]
    steps += [(time_ns(metadata.get("request_end_ns")), -1) for metadata in metadata_list]
    timed_steps = sorted((time_ns, step) for time_ns, step in steps if time_ns is not None)
    return max(accumulate((step for _, step in timed_steps), initial=0)) or 1


def _sent_ns(record: Mapping[str, Any]) -> float | None:
    return time_ns(dict_of(record.get("metadata")).get("request_start_ns"))


def time_ns(value: Any) -> float | None:
    """Return nanoseconds since the epoch as a float, whose rounding (below 1 us) does not matter here."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62 else None


def _value(record: Mapping[str, Any], name: str) -> Any:
    return dict_of(dict_of(record.get("metrics")).get(name)).get("value")


def _add_request(
    load: LoadBuilder, record: Mapping[str, Any], position: tuple[int, int], phase_start: datetime, concurrency: int
) -> None:
    """Add one request; `position`: index of its phase and its own index in the phase."""
    metadata, error = dict_of(record.get("metadata")), dict_of(record.get("error"))
    sent_at = time_of((_sent_ns(record) or 0.0) / 1e9) or phase_start
    error_text = text(error.get("message")) or text(error.get("type"))
    usage_tokens, counted_tokens = (
        count(_value(record, "usage_completion_tokens")),
        count(_value(record, "output_sequence_length")),
    )
    usage_prompt_tokens, counted_prompt_tokens = (
        count(_value(record, "usage_prompt_tokens")),
        count(_value(record, "input_sequence_length")),
    )
    cached_tokens = count(_value(record, "usage_prompt_cache_read_tokens"))
    load.request(
        phase=WARMUP_KIND if _is_warmup(record) else MEASURE_KIND, prompt_class="-", stream=0,
        concurrency=concurrency, sent_at=sent_at, since_phase_s=(sent_at - phase_start).total_seconds(),
        phase_index=position[0], sequence=position[1],
        ttft_ms=number(_value(record, "time_to_first_token")), total_ms=number(_value(record, "request_latency")),
        decode_ms=number(_value(record, "decode_duration")),
        prompt_tokens=counted_prompt_tokens if usage_prompt_tokens is None else usage_prompt_tokens,
        completion_tokens=counted_tokens if usage_tokens is None else usage_tokens,
        token_source="usage" if usage_tokens is not None else "tokenizer" if counted_tokens is not None else None,
        chunks=count(_value(record, "http_req_chunks_received")),
        error_kind=_kind(metadata, error, error_text), error_text=error_text,
        extra={} if cached_tokens is None else {"cached_prompt_tokens": cached_tokens},
    )  # fmt: skip


def _kind(metadata: Mapping[str, Any], error: Mapping[str, Any], error_text: str | None) -> str | None:
    if metadata.get("was_cancelled") is True:
        return "cancelled"
    return error_kind(f"{error.get('code') or ''} {error.get('type') or ''} {error_text or ''}") if error else None


def _add_phase(
    load: LoadBuilder,
    rows: list[Mapping[str, Any]],
    phase_key: tuple[int, str],
    phase_start: datetime,
    concurrency: int,
) -> None:
    ends = [time_ns(dict_of(record.get("metadata")).get("request_end_ns")) for record in rows]
    ended_at = time_of(max(filter(None, ends), default=0.0) / 1e9) or phase_start
    title = "warm-up" if phase_key[1] == WARMUP_KIND else "profiling"
    load.phase(
        ts=ended_at, phase_index=phase_key[0], title=title, kind=phase_key[1], concurrency=concurrency,
        began_at=phase_start, duration_s=(ended_at - phase_start) / timedelta(seconds=1),
        planned_requests=len(rows), is_complete=True,
    )  # fmt: skip
