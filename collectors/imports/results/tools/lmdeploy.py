"""Reads LMDeploy's profilers: what they print, and the tables that they write. Their times are in seconds."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed import number_or_text
from collectors.imports.results.tools.printed_block import PrintedBlock, model_of, read_blocks, shape_of
from collectors.imports.results.values import count, number

TOOL = "lmdeploy profiler"
PROGRAM = re.compile(r"\bprofile_(?:throughput|pipeline_api|generation|restful_api)\b")
OPENING = re.compile(r"\s{0,12}={3,60} (?P<title>[A-Z][\w ]{2,40}) ={3,60}\s*")
CLOSING = re.compile(r"\s{0,12}={20,160}\s*")
RULE = re.compile(r"\s{0,12}-{20,160}\s*")
ROW = re.compile(r"\s{0,12}(?P<label>[A-Z][\w()/ -]{2,60}?) {2,80}(?P<cells>\S{1,20}(?: {1,40}\S{1,20}){0,12})\s*")
HEADS = re.compile(r"\s{0,80}mean(?: {1,40}P\d{1,2}){1,12}\s*")
FIRST_LABEL = "Benchmark duration"
TOTALS = {
    "Benchmark duration": ("duration_s", "total"),
    "Successful requests": ("requests", "total"),
    "Total input tokens": ("prompt_tokens", "total"),
    "Total generated tokens": ("completion_tokens", "total"),
    "Input throughput (tok/s)": ("prompt_tps", "mean"),
    "Output throughput (tok/s)": ("output_tps", "mean"),
    "Request throughput (req/s)": ("request_tps", "mean"),
}
LATENCIES = {
    "End-to-end Latency": ("e2e_ms", 1e3),
    "Time to First Token (TTFT)": ("ttft_ms", 1e3),
    "Time per Output Token (TPOT)": ("tpot_ms", 1e3),
    "Inter-token Latency (ITL)": ("itl_ms", 1e3),
    "Tokens per Tick": ("tokens_per_piece", 1.0),
}
ZERO_NOTE = "Latencies that were rounded to 0 were left out."
ALL_REQUESTS = "Total requests"
EARLY_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
EARLY_OPENING = re.compile(r"\s{0,12}concurrency: (?P<level>\d{1,6})\s*")
EARLY_LINE = re.compile(  # its latencies are seconds, whether or not their unit stands behind them
    r"\s{0,12}(?P<label>elapsed_time|first[_ ]token latency(?:\(s\))?\(min, max, ave\)|number of \w{4,12} tokens"
    r"|per-token latency\(s\) percentile\(50, 75, 95, 99\)|token throughput \((?:prompt \+ )?completion token\)"
    r"|RP[SM] \(request per \w{6}\)): \[?(?P<numbers>\d[\d., s]{0,80})\]?(?: ?(?:token/s|req/s|req/min))?\s*"
)
EARLY_TOTALS = {
    "elapsed time": ("duration_s", "total"),
    "number of prompt tokens": ("prompt_tokens", "total"),
    "number of completion tokens": ("completion_tokens", "total"),
    "token throughput (completion token)": ("output_tps", "mean"),
    "token throughput (prompt + completion token)": ("total_tps", "mean"),
    "RPS (request per second)": ("request_tps", "mean"),
}
EARLY_LATENCIES = {  # the beginning of a label -> metric, statistics
    "first token latency": ("ttft_ms", ("min", "max", "mean")),
    "per-token latency": ("itl_ms", ("median", "p75", "p95", "p99")),
}
LEVELS = ("Concurrency", "concurrency", "bs", "batch")
COLUMNS = {  # of the tables -> metric, statistic, factor
    "completed": ("requests", "total", 1.0),
    "total_input_tokens": ("prompt_tokens", "total", 1.0),
    "total_output_tokens": ("completion_tokens", "total", 1.0),
    "duration": ("duration_s", "total", 1.0),
    "request_throughput": ("request_tps", "mean", 1.0),
    "input_throughput": ("prompt_tps", "mean", 1.0),
    "output_throughput": ("output_tps", "mean", 1.0),
    "mean_e2e_latency_ms": ("e2e_ms", "mean", 1.0),
    "mean_ttft_ms": ("ttft_ms", "mean", 1.0),
    "mean_tpot_ms": ("tpot_ms", "mean", 1.0),
    "mean_itl_ms": ("itl_ms", "mean", 1.0),
    "throughput(total tok/s)": ("total_tps", "mean", 1.0),
    "throughput(out tok/s)": ("output_tps", "mean", 1.0),
    "mem(GB)": (STATED, "max", 1.0),
    "FTL(ave)(s)": ("ttft_ms", "mean", 1e3),
    "FTL(min)(s)": ("ttft_ms", "min", 1e3),
    "FTL(max)(s)": ("ttft_ms", "max", 1e3),
    **{f"{percent}%(s)": ("itl_ms", "median" if percent == 50 else f"p{percent}", 1e3) for percent in (50, 75, 95, 99)},
}
TABLE_MARKS = (
    {"bs", "completed", "request_throughput", "mean_e2e_latency_ms"}, {"batch", "FTL(ave)(s)", "throughput(out tok/s)"},
)  # fmt: skip


# --- tables -----------------------------------------------------------------------------------------------------------
def recognise(head: str) -> bool:
    """Return whether a table has the columns of a profiler."""
    columns = set(head.partition("\n")[0].strip().split(","))
    return any(marks <= columns for marks in TABLE_MARKS)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return a load for each row of a table; raises ImportRefusedError."""
    with source.refusing_bad_csv():
        rows = list(csv.DictReader(io.StringIO(source.text(), newline="")))
    loads = [_load_of_row(row, ticket, index) for index, row in enumerate(rows, 1)]
    if not loads or not all(load.rows for load in loads):
        raise ImportRefusedError(f"{source.name} is a table of LMDeploy, but one of its rows has no result.")
    return loads


def _load_of_row(row: Mapping[str, str], ticket: Ticket, index: int) -> LoadBuilder:
    values = {name: number_or_text(cell) for name, cell in row.items() if name and isinstance(cell, str) and cell}
    params = {name: value for name, value in values.items() if name not in COLUMNS}
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, ticket.file_date, number=index, params=params,
        planned_requests=count(values.get("num_prompts")),
    )  # fmt: skip
    concurrency = next((count(values[name]) for name in LEVELS if name in values), None)
    tokens = [count(values.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    point = _point(concurrency, *tokens)
    for name, (metric, statistic, factor) in COLUMNS.items():
        if number(values.get(name)) is None:  # without streaming '-'
            continue
        named_point = point._replace(name=f"{point.name}: memory of a GPU") if metric == STATED else point
        load.result(
            named_point, metric, statistic, values[name], factor=factor, unit="GB" if metric == STATED else None
        )
    return load


def _point(
    concurrency: int | None, prompt_tokens: int | None = None, output_tokens: int | None = None
) -> MeasurementPoint:
    name = f"{concurrency} at once" if concurrency else "all requests"
    return MeasurementPoint(
        f"{shape_of(prompt_tokens, output_tokens)}{name}", concurrency, prompt_tokens, output_tokens
    )


# --- printed before 0.6 -----------------------------------------------------------------------------------------------
def _early_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    index = 0
    while index < len(lines):
        end = index + 1
        if EARLY_OPENING.fullmatch(lines[index][:60]):
            while end < len(lines) and (not lines[end].strip() or EARLY_LINE.fullmatch(lines[end][:300])):
                end += 1
            if any("token throughput" in line for line in lines[index:end]):
                yield index, end
        index = end


def _early_load(block: PrintedBlock, ticket: Ticket, index: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=index, model=model_of(block.command))
    opening = EARLY_OPENING.fullmatch(block.lines[0])
    point = _point(int(opening["level"]) if opening else None)
    for match in filter(None, map(EARLY_LINE.fullmatch, block.lines)):
        label = match["label"].strip().replace("_", " ")
        numbers = [float(text) for text in EARLY_NUMBER.findall(match["numbers"])]
        if label in EARLY_TOTALS:
            load.result(point, *EARLY_TOTALS[label], numbers[0])
        for start, (metric, statistics) in EARLY_LATENCIES.items():
            for statistic, seconds in zip(statistics, numbers, strict=False) if label.startswith(start) else ():
                if seconds:
                    load.result(point, metric, statistic, seconds, factor=1e3)
                elif ZERO_NOTE not in load.notes:
                    load.notes.append(ZERO_NOTE)
    return load


# --- printed ----------------------------------------------------------------------------------------------------------
def has_printed(content: str) -> bool:
    """Return whether a text contains what a profiler prints."""
    lines = content.splitlines() if FIRST_LABEL in content or "token throughput (completion" in content else []
    return any(True for _ in (*_blocks(lines), *_early_blocks(lines)))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each printed profile of a text, and the text with their lines left empty."""
    loads, text = read_blocks(content, _blocks, PROGRAM, _load_of, ticket, first_number)
    early_loads, text = read_blocks(text, _early_blocks, PROGRAM, _early_load, ticket, first_number + len(loads))
    return loads + early_loads, text


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    index = 0
    while index < len(lines):
        end = index + 1
        is_opening = OPENING.fullmatch(lines[index][:200]) is not None
        if is_opening and end < len(lines) and _row(lines[end])[:1] == [FIRST_LABEL]:
            while end < len(lines) and (RULE.fullmatch(lines[end][:200]) or _row(lines[end])):
                end += 1
            end += end < len(lines) and CLOSING.fullmatch(lines[end][:200]) is not None
            yield index, end
        index = end


def _row(line: str) -> list[str]:
    """Return the label and the cells of a row; for the line of the heads an empty label."""
    if HEADS.fullmatch(line[:300]):
        return ["", *line.split()]
    match = ROW.fullmatch(line[:300])
    return [match["label"], *match["cells"].split()] if match else []


def _load_of(block: PrintedBlock, ticket: Ticket, index: int) -> LoadBuilder:
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=index, model=model_of(block.command))
    opening = OPENING.fullmatch(block.lines[0])
    load.params |= {"heading": opening["title"]} if opening else {}
    rows = [row for line in block.lines[1:] if (row := _row(line))]
    values = {row[0]: number_or_text(row[1]) for row in rows if len(row) == 2}
    load.planned_requests = count(values.get(ALL_REQUESTS))
    point = _point(next((count(values[name]) for name in LEVELS if name in values), None))
    heads = next((row[1:] for row in rows if not row[0]), [])
    for label, value in values.items():
        if label in TOTALS:
            load.result(point, *TOTALS[label], value)
            if TOTALS[label][0] == "requests" and load.planned_requests is not None:
                load.result(point, "failed_requests", "total", load.planned_requests - (count(value) or 0))
        elif label != ALL_REQUESTS:
            load.params[label] = value
    for label, *cells in rows:
        if label in LATENCIES:
            metric, factor = LATENCIES[label]
            for head, cell in zip(heads, cells, strict=False):
                statistic = "median" if head == "P50" else head.lower()
                load.result(point, metric, statistic, number_or_text(cell), factor=factor)
    return load
