"""Reads EvalScope's `perf`: one folder per level with arguments, summary, percentiles and a request database.

Its "Spec. Accept Rate" is 1 - 1/L, not an acceptance rate; L, the tokens per piece of the answer, is used instead. Only
plain columns of the database are read, never its pickles; its clock is monotonic and has no date.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.errors import OTHER
from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.source import MAX_BYTES, ResultFile
from collectors.imports.results.values import (
    after,
    count,
    cut,
    dict_of,
    digest,
    list_of,
    number,
    pieces_us,
    scaled,
    text,
)
from machine.regular_file import open_regular, pin_path

TOOL = "evalscope"
SUMS = {  # name of a value without its unit, in lower case -> metric, statistic; also as early versions call it
    "test duration": ("duration_s", "total"),
    "time taken for tests": ("duration_s", "total"),
    "success requests": ("requests", "total"),
    "succeed requests": ("requests", "total"),
    "failed requests": ("failed_requests", "total"),
    "req throughput": ("request_tps", "mean"),
    "request throughput": ("request_tps", "mean"),
    "average qps": ("request_tps", "mean"),
    "rps": ("request_tps", "mean"),
    "output throughput": ("output_tps", "mean"),
    "output token throughput": ("output_tps", "mean"),
    "gen. toks/s": ("output_tps", "mean"),
    "gen. tok/s": ("output_tps", "mean"),
    "gen/s": ("output_tps", "mean"),
    "total throughput": ("total_tps", "mean"),
    "total token throughput": ("total_tps", "mean"),
    "input throughput": ("prompt_tps", "mean"),
    "input token throughput": ("prompt_tps", "mean"),
}
DISTRIBUTIONS = {  # name behind a statistic, or beside percentiles -> metric
    "latency": "e2e_ms",
    "lat.": "e2e_ms",
    "ttft": "ttft_ms",
    "time to first token": "ttft_ms",
    "first chunk latency": "ttft_ms",
    "tpot": "tpot_ms",
    "time per output token": "tpot_ms",
    "itl": "itl_ms",
    "inter-token latency": "itl_ms",
    "input tokens": "prompt_tokens",
    "input tokens per request": "prompt_tokens",
    "output tokens": "completion_tokens",
    "output tokens per request": "completion_tokens",
    "output": "e2e_tps",  # tokens of an answer over its whole time
    "decode": "decode_tps",
    "decode toks/s": "decode_tps",
    "decoded tok/iter": "tokens_per_piece",
}
PROMPT_SPEEDS = {name for name, (metric, _) in SUMS.items() if metric == "prompt_tps"}
PER_REQUEST = {
    "e2e_ms",
    "ttft_ms",
    "tpot_ms",
    "prompt_tokens",
    "completion_tokens",
    "tokens_per_piece",
}  # one value per request
LABEL = re.compile(r"(?:(?P<statistic>avg|average|p\d{1,2}) )?(?P<name>.{2,60}?) ?(?:\((?P<unit>[^()]{1,20})\))?")
AVERAGES = ("avg", "average")
FACTORS = {"s": 1e3}  # of latencies
PERCENT = re.compile(r"(?P<percent>\d{1,2}(?:\.\d{1,3})?)%")
LEVELS = ("concurrency", "number of concurrency", "conc.")
RATES = ("request rate (req/s)", "rate")  # at which it sent; -1 without a limit
ALL_REQUESTS = "total requests"
ACCEPTANCE = "spec. accept rate"  # no acceptance rate, see above
SUM_MARKS = (
    ('"Success Requests"', '"Test Duration (s)"'), ('"Succeed requests"', '"Time taken for tests (s)"'),
)  # fmt: skip
PROMPT, SPEED, MEMORY = "prompt tokens", "speed(tokens/s)", "gpu memory(gb)"  # of the data set `speed_benchmark`
MAGIC = "SQLite format 3\x00"
COLUMNS = ("start_time", "latency", "first_chunk_latency", "prompt_tokens", "completion_tokens", "success",
           "inter_token_latencies", "request")  # fmt: skip
MAX_ROWS = 200_000
MAX_CELL_BYTES = 4 << 20  # bytes
MAX_STEPS = 20_000  # of 1,000 SQLite instructions each: reading a flat table needs few


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of an EvalScope file."""
    start = head.lstrip()
    is_sums = start.startswith("{") and any(all(mark in head for mark in marks) for marks in SUM_MARKS)
    is_list = start.startswith("[") and ('"Percentiles"' in start[:200] or '"Speed(tokens/s)"' in start[:200])
    return is_sums or is_list or head.startswith(MAGIC)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a single file; raises ImportRefusedError."""
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    if source.head.startswith(MAGIC):
        add_requests(load, source, 0, None)
    elif source.head.lstrip().startswith("["):
        rows = [dict_of(row) for row in list_of(source.json())]
        add_percentiles(load, rows, MeasurementPoint("all requests"))
        add_speeds(load, rows)
    else:
        add_sums(load, source)
    return [load]


def add_level(load: LoadBuilder, level_index: int, files: Mapping[str, ResultFile]) -> None:
    """Add one level from the files of its folder, by name; raises ImportRefusedError."""
    arguments = dict_of(files["benchmark_args.json"].json()) if "benchmark_args.json" in files else {}
    load.model = load.model or text(arguments.get("model"))
    load.base_url = load.base_url or text(arguments.get("url"))
    parameter_names = ("dataset", "max_tokens", "min_tokens", "temperature", "rate", "stream", "api")
    load.params |= {name: arguments[name] for name in parameter_names if arguments.get(name) is not None}
    point = add_sums(load, files["benchmark_summary.json"])
    if "benchmark_percentile.json" in files:
        rows = list_of(files["benchmark_percentile.json"].json())
        add_percentiles(load, [dict_of(row) for row in rows], point)
    if "speed_benchmark.json" in files:
        add_speeds(load, [dict_of(row) for row in list_of(files["speed_benchmark.json"].json())])
    if "benchmark_data.db" in files:
        add_requests(load, files["benchmark_data.db"], level_index, point.concurrency)


def add_sums(load: LoadBuilder, source: ResultFile) -> MeasurementPoint:
    """Add the values of benchmark_summary.json and return their point."""
    return add_summary(load, dict_of(source.json()))


def add_summary(load: LoadBuilder, values: Mapping[str, Any]) -> MeasurementPoint:
    """Add the values of a summary by their labels and return their point."""
    values_by_label = {label.lower(): value for label, value in values.items()}
    level, rate = (next((values_by_label[n] for n in names if n in values_by_label), None) for names in (LEVELS, RATES))
    point = point_of(level, rate)
    n = next(
        (number for name in ("success requests", "succeed requests") if (number := count(values_by_label.get(name)))),
        None,
    )
    load.planned_requests = (load.planned_requests or 0) + (count(values_by_label.get(ALL_REQUESTS)) or 0)
    for label, value in values.items():
        if label.lower() not in (*LEVELS, *RATES, ALL_REQUESTS):
            add_value(load, point, label, value, n=n)
    return point


def point_of(level: Any, rate: Any) -> MeasurementPoint:
    """Return the point of a level, or of a rate of requests where their number at once has no limit."""
    concurrency, rate_rps = count(level) or None, number(rate)
    rated = f"{rate_rps:g} requests/s" if rate_rps else ""
    name = ", ".join(filter(None, (f"{concurrency} at once" if concurrency else "", rated)))
    return MeasurementPoint(name or "all requests", concurrency)


def add_value(
    load: LoadBuilder, point: MeasurementPoint, label: str, value: Any, statistic: str | None = None,
    n: int | None = None,
) -> None:  # fmt: skip
    """Add a value under the metric that its label names; `statistic`: one that stands beside the label."""
    match = LABEL.fullmatch(label.lower())
    if match is None or match["name"] == ACCEPTANCE or value is None:
        return
    if value == 0 and (match["name"] in DISTRIBUTIONS or match["name"] in PROMPT_SPEEDS):
        return  # not measured: a summary has all names
    name, unit, is_average = match["name"], match["unit"], match["statistic"] in AVERAGES
    stated_statistic = statistic or ("mean" if is_average else match["statistic"])
    if f"{match['statistic']} {name}" in SUMS or name in SUMS or unit == "average tokens/s":
        metric, own_statistic = SUMS.get(f"{match['statistic']} {name}") or SUMS.get(name) or ("output_tps", "mean")
        load.result(point, metric, statistic or own_statistic, value)
    elif (distribution := _distribution_of(name, unit)) and stated_statistic:
        metric_n = n if distribution in PER_REQUEST else None
        factor = FACTORS.get(unit or "", 1.0) if distribution.endswith("_ms") else 1.0
        load.result(point, distribution, stated_statistic, value, factor=factor, n=metric_n)
    elif unit and number(value) is not None:
        named_point = point._replace(name=f"{point.name}: {label}")
        load.result(named_point, STATED, stated_statistic or STATED, value, unit=unit)
    else:
        load.params[label] = cut(value)


def _distribution_of(name: str, unit: str | None) -> str | None:
    """Return the metric of a distribution; early percentiles call the speed of an answer its throughput."""
    return "e2e_tps" if (name, unit) == ("throughput", "tokens/s") else DISTRIBUTIONS.get(name)


def statistic_of(percentile: str) -> str | None:
    """Return the statistic that a row or a column of percentiles names."""
    match = PERCENT.fullmatch(percentile)
    return percentile_name(match["percent"]) if match else percentile if percentile in ("min", "max") else None


def add_percentiles(load: LoadBuilder, rows: Sequence[Mapping[str, Any]], point: MeasurementPoint) -> None:
    """Add the rows of benchmark_percentile.json."""
    for row in rows:
        if statistic := statistic_of(str(row.get("Percentiles"))):
            for name, value in row.items():
                if name != "Percentiles":
                    add_value(load, point, name, value, statistic)


def add_speeds(load: LoadBuilder, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add what the data set `speed_benchmark` measures for each length of prompt: the mean speed of a whole answer."""
    for row in rows:
        values = {label.lower(): value for label, value in row.items()}
        if SPEED in values:
            prompt_tokens = count(values.get(PROMPT))
            point = MeasurementPoint(f"pp{prompt_tokens}", None, prompt_tokens)
            load.result(point, "e2e_tps", "mean", values[SPEED])
            if number(values.get(MEMORY)):
                load.result(point._replace(name=f"{point.name}: GPU memory"), STATED, "mean", values[MEMORY], unit="GB")


# --- the database of requests -----------------------------------------------------------------------------------------
def add_requests(load: LoadBuilder, source: ResultFile, level_index: int, concurrency: int | None) -> None:
    """Add the rows of benchmark_data.db; raises ImportRefusedError if it is invalid or too large."""
    rows = _rows(source)
    if not rows:
        return
    start_times = [row["start_time"] for row in rows]
    first_start = min(start_times)
    hashes = [
        _add_request(load, level_index, sequence, first_start, concurrency or 1, row)
        for sequence, row in enumerate(rows)
    ]
    load.prompt_set_hash = digest([load.prompt_set_hash, hashes]) if None not in hashes else load.prompt_set_hash
    duration_s = max(row["start_time"] + (number(row["latency"]) or 0.0) for row in rows) - first_start
    load.phase(
        ts=after(load.ts, duration_s), phase_index=level_index, title=f"{concurrency or '?'} at once", kind="measure",
        concurrency=concurrency or 1, began_at=load.ts, duration_s=duration_s, planned_requests=len(rows),
        is_complete=True,
    )  # fmt: skip


def _rows(source: ResultFile) -> list[dict[str, Any]]:
    """Return the rows sorted by time, through a read-only connection."""
    with open_regular(pin_path(source.path)) as file:
        path = Path(f"/proc/self/fd/{file.fileno()}")
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
                rows = _query_rows(database, source)
        except sqlite3.Error as error:
            raise ImportRefusedError(f"{source.name} is cut or not a database of EvalScope: {error}.") from error
    if any(number(row["start_time"]) is None for row in rows):
        raise ImportRefusedError(f"{source.name} has a request without a start time.")
    return sorted(rows, key=lambda row: row["start_time"])


def _query_rows(database: sqlite3.Connection, source: ResultFile) -> list[dict[str, Any]]:
    steps = iter(range(MAX_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, 1000)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL_BYTES)
    database.execute("PRAGMA trusted_schema = OFF")
    table_type = database.execute("SELECT type FROM sqlite_master WHERE name = 'result'").fetchone()
    if table_type != ("table",):
        raise ImportRefusedError(f"{source.name} is not a database of EvalScope: it has no table 'result'.")
    cursor = database.execute(f"SELECT {', '.join(COLUMNS)} FROM result LIMIT {MAX_ROWS + 1}")
    rows: list[dict[str, Any]] = []
    size = 0
    for row in cursor:
        rows.append(dict(zip(COLUMNS, row, strict=True)))
        size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        if len(rows) > MAX_ROWS or size > MAX_BYTES:
            raise ImportRefusedError(f"{source.name} has more than {MAX_ROWS:,} requests, or more data than its file.")
    return rows


def _add_request(
    load: LoadBuilder, level_index: int, sequence: int, first_start: float, concurrency: int, row: Mapping[str, Any]
) -> str | None:
    since_s = row["start_time"] - first_start
    is_success = row["success"] == 1
    ttft_ms, total_ms = scaled(row["first_chunk_latency"], 1e3), scaled(row["latency"], 1e3)
    pieces = pieces_us(ttft_ms, list_of(_json(row["inter_token_latencies"])))
    request = dict_of(_json(row["request"]))
    prompt = request.get("messages") or request.get("prompt")
    prompt_hash = digest(prompt) if prompt else None
    load.request(
        phase="measure", prompt_class="-", stream=0, concurrency=concurrency, sent_at=after(load.ts, since_s),
        since_phase_s=since_s, phase_index=level_index, sequence=sequence, ttft_ms=ttft_ms, total_ms=total_ms,
        decode_ms=total_ms - ttft_ms if total_ms is not None and ttft_ms is not None else None,
        prompt_tokens=count(row["prompt_tokens"]), completion_tokens=count(row["completion_tokens"]),
        chunks=pieces and len(pieces),
        chunk_us=pieces,
        prompt_hash=prompt_hash, error_kind=None if is_success else OTHER,
        error_text=None if is_success else "EvalScope gives no reason for the failure", extra={},
    )  # fmt: skip
    return prompt_hash


def _json(value: Any) -> Any:
    try:
        return json.loads(value, parse_constant=str) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None
