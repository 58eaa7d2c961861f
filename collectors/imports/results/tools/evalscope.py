"""EvalScope's `perf`: a folder a level with its arguments, its sums, its percentiles and a database of requests.

Its "Spec. Accept Rate" is 1 - 1/L and no acceptance: of speculation it gives L, tokens per piece of the answer. The
database is read by its columns alone, never its pickles; its clock is monotonic and has no date.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.errors import OTHER
from collectors.imports.results.source import MOST_BYTES, Source
from collectors.imports.results.values import after, count, dict_of, digest, list_of, number, pieces_us, scaled, text
from machine.regular_file import opened, pinned

TOOL = "evalscope"
SUMS = {
    "Test Duration (s)": ("duration_s", "total"),
    "Success Requests": ("requests", "total"),
    "Failed Requests": ("failed_requests", "total"),
    "Req Throughput (req/s)": ("request_tps", "mean"),
    "Output Throughput (tok/s)": ("output_tps", "mean"),
    "Total Throughput (tok/s)": ("total_tps", "mean"),
    "Avg Latency (s)": ("e2e_ms", "mean"),
    "Avg TTFT (ms)": ("ttft_ms", "mean"),
    "Avg TPOT (ms)": ("tpot_ms", "mean"),
    "Avg ITL (ms)": ("itl_ms", "mean"),
    "Avg Input Tokens": ("prompt_tokens", "mean"),
    "Avg Output Tokens": ("completion_tokens", "mean"),
    "Avg Decoded Tok/Iter": ("tokens_per_piece", "mean"),
}
OF_REQUESTS = {"e2e_ms", "ttft_ms", "tpot_ms", "prompt_tokens", "completion_tokens", "tokens_per_piece"}  # a value each
SHARES = {
    "Latency (s)": "e2e_ms",
    "TTFT (ms)": "ttft_ms",
    "TPOT (ms)": "tpot_ms",
    "ITL (ms)": "itl_ms",
    "Decode (tok/s)": "decode_tps",
}
STATISTICS = {"min": "min", "50%": "median", "90%": "p90", "95%": "p95", "99%": "p99", "max": "max"}
FACTORS = {"Latency (s)": 1e3, "Avg Latency (s)": 1e3}
MAGIC = "SQLite format 3\x00"
COLUMNS = ("start_time", "latency", "first_chunk_latency", "prompt_tokens", "completion_tokens", "success",
           "inter_token_latencies", "request")  # fmt: skip
MOST_ROWS = 200_000
MOST_CELL = 4 << 20  # bytes
MOST_STEPS = 20_000  # of a thousand instructions of SQLite's: rows of one flat table need few


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    start = head.lstrip()
    is_sums = start.startswith("{") and '"Success Requests"' in head and '"Test Duration (s)"' in head
    return is_sums or (start.startswith("[") and '"Percentiles"' in start[:200]) or head.startswith(MAGIC)


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The load of one file alone; raises ImportRefusedError."""
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.dated)
    if source.head.startswith(MAGIC):
        add_requests(load, source, 0, None)
    elif source.head.lstrip().startswith("["):
        add_percentiles(load, source, Point("all requests"))
    else:
        add_sums(load, source)
    return [load]


def add_level(load: LoadBuilder, place: int, files: Mapping[str, Source]) -> None:
    """Add one level by the files of its folder, by their names; raises ImportRefusedError."""
    asked = dict_of(files["benchmark_args.json"].json()) if "benchmark_args.json" in files else {}
    load.model = load.model or text(asked.get("model"))
    load.base_url = load.base_url or text(asked.get("url"))
    kept = ("dataset", "max_tokens", "min_tokens", "temperature", "rate", "stream", "api")
    load.params |= {name: asked[name] for name in kept if asked.get(name) is not None}
    point = add_sums(load, files["benchmark_summary.json"])
    if "benchmark_percentile.json" in files:
        add_percentiles(load, files["benchmark_percentile.json"], point)
    if "benchmark_data.db" in files:
        add_requests(load, files["benchmark_data.db"], place, point.concurrency)


def add_sums(load: LoadBuilder, source: Source) -> Point:
    """Add what benchmark_summary.json says, and give the point that it is of."""
    summary = dict_of(source.json())
    at_once = count(summary.get("Concurrency"))
    point = Point(f"{at_once} at once" if at_once else "all requests", at_once)
    n = count(summary.get("Success Requests"))
    load.planned_requests = (load.planned_requests or 0) + (count(summary.get("Total Requests")) or 0)
    for name, (metric, statistic) in SUMS.items():
        if name in summary:
            of = n if metric in OF_REQUESTS else None
            load.result(point, metric, statistic, summary[name], factor=FACTORS.get(name, 1.0), n=of)
    return point


def add_percentiles(load: LoadBuilder, source: Source, point: Point) -> None:
    """Add what benchmark_percentile.json says."""
    for row in map(dict_of, list_of(source.json())):
        statistic = STATISTICS.get(str(row.get("Percentiles")))
        for name, metric in SHARES.items():
            if statistic and name in row:
                load.result(point, metric, statistic, row[name], factor=FACTORS.get(name, 1.0))


# --- the database of requests -----------------------------------------------------------------------------------------
def add_requests(load: LoadBuilder, source: Source, place: int, at_once: int | None) -> None:
    """Add the rows of benchmark_data.db; raises ImportRefusedError for what is no such database, or asks too much."""
    rows = _rows(source)
    if not rows:
        return
    known = [row["start_time"] for row in rows]
    first = min(known)
    hashes = [_add_request(load, place, sequence, first, at_once or 1, row) for sequence, row in enumerate(rows)]
    load.prompt_set_hash = digest([load.prompt_set_hash, hashes]) if None not in hashes else load.prompt_set_hash
    lasted = max(row["start_time"] + (number(row["latency"]) or 0.0) for row in rows) - first
    load.phase(
        ts=after(load.ts, lasted), phase_index=place, title=f"{at_once or '?'} at once", kind="measure",
        concurrency=at_once or 1, began_at=load.ts, duration_s=lasted, planned_requests=len(rows), is_complete=True,
    )  # fmt: skip


def _rows(source: Source) -> list[dict[str, Any]]:
    """The rows by time, from a connection that may read and nothing else."""
    with opened(pinned(source.path)) as file:  # a regular file
        path = Path(f"/proc/self/fd/{file.fileno()}")
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
                rows = _asked(database, source)
        except sqlite3.Error as error:
            raise ImportRefusedError(f"{source.name} is cut or no database of EvalScope's: {error}.") from error
    if any(number(row["start_time"]) is None for row in rows):
        raise ImportRefusedError(f"{source.name} holds a request without the time at which it began.")
    return sorted(rows, key=lambda row: row["start_time"])


def _asked(database: sqlite3.Connection, source: Source) -> list[dict[str, Any]]:
    steps = iter(range(MOST_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, 1000)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
    database.execute("PRAGMA trusted_schema = OFF")
    kind = database.execute("SELECT type FROM sqlite_master WHERE name = 'result'").fetchone()
    if kind != ("table",):
        raise ImportRefusedError(f"{source.name} is no database of EvalScope's: it has no table 'result'.")
    cursor = database.execute(f"SELECT {', '.join(COLUMNS)} FROM result LIMIT {MOST_ROWS + 1}")
    rows: list[dict[str, Any]] = []
    size = 0
    for row in cursor:
        rows.append(dict(zip(COLUMNS, row, strict=True)))
        size += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        if len(rows) > MOST_ROWS or size > MOST_BYTES:
            raise ImportRefusedError(f"{source.name} holds more than {MOST_ROWS:,} requests, or more than its file.")
    return rows


def _add_request(
    load: LoadBuilder, place: int, sequence: int, first: float, at_once: int, row: Mapping[str, Any]
) -> str | None:
    since_s = row["start_time"] - first
    is_well = row["success"] == 1
    ttft_ms, total_ms = scaled(row["first_chunk_latency"], 1e3), scaled(row["latency"], 1e3)
    pieces = pieces_us(ttft_ms, list_of(_json(row["inter_token_latencies"])))
    asked = dict_of(_json(row["request"]))
    texts = asked.get("messages") or asked.get("prompt")
    hashed = digest(texts) if texts else None
    load.request(
        phase="measure", prompt_class="-", stream=0, concurrency=at_once, sent_at=after(load.ts, since_s),
        since_phase_s=since_s, phase_index=place, sequence=sequence, ttft_ms=ttft_ms, total_ms=total_ms,
        decode_ms=total_ms - ttft_ms if total_ms is not None and ttft_ms is not None else None,
        prompt_tokens=count(row["prompt_tokens"]), completion_tokens=count(row["completion_tokens"]),
        chunks=pieces and len(pieces),
        chunk_us=pieces,
        prompt_hash=hashed, error_kind=None if is_well else OTHER,
        error_text=None if is_well else "EvalScope says no more than that it failed", extra={},
    )  # fmt: skip
    return hashed


def _json(value: Any) -> Any:
    try:
        return json.loads(value, parse_constant=str) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None
