"""Reads `vllm bench latency` and `vllm bench throughput`, whose requests no server gets: printed, and as JSON.

A latency is that of a complete batch, in seconds. Its percentiles are of the repetitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import stdev
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import percentile_name
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed_block import PrintedBlock, read_blocks, shape_of
from collectors.imports.results.values import count, cut, dict_of, list_of, number, text
from domain import JsonValue

LATENCY, THROUGHPUT = "vllm bench latency", "vllm bench throughput"
PROGRAM = re.compile(r"\bvllm bench (?:latency|throughput)\b|\bbenchmark_(?:latency|throughput)\.py\b")
FLAGS = ("model", "input_len", "output_len", "batch_size", "num_iters", "num_prompts", "dtype", "quantization",
         "tensor_parallel_size", "kv_cache_dtype", "dataset_name", "n")  # fmt: skip
NUMBER = r"\d{1,12}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?"
LATENCY_LINE = re.compile(
    r"\s{0,12}(?:(?P<mean>Avg) latency|(?P<sd>Std) latency|(?P<percent>\d{1,2}(?:\.\d{1,3})?)% percentile latency)"
    rf": (?P<seconds>{NUMBER}) seconds\s*"
)
THROUGHPUT_LINE = re.compile(
    rf"(?:\s{{0,12}}[-*>]){{0,3}}\s{{0,12}}Throughput: "
    rf"(?P<requests>{NUMBER}) requests/s, (?P<total>{NUMBER}) (?:total )?tokens/s"
    rf"(?:, (?P<output>{NUMBER}) output tokens/s)?(?P<setting> @ [^|]{{1,80}}?)?\s*"
)
TOTAL_LINE = re.compile(r"\s{0,12}Total num (?P<side>prompt|output) tokens: {1,8}(?P<tokens>\d{1,15})\s*")
TOTAL_METRICS = {"prompt": "prompt_tokens", "output": "completion_tokens"}
JSON_TOTALS = {
    "elapsed_time": ("duration_s", "total"),
    "num_requests": ("requests", "total"),
    "requests_per_second": ("request_tps", "mean"),
    "tokens_per_second": ("total_tps", "mean"),
}
POINT = MeasurementPoint("all requests")


# --- JSON -------------------------------------------------------------------------------------------------------------
def recognise(head: str) -> bool:
    """Return whether a file is the JSON that one of the two writes with `--output-json`."""
    is_latency = '"avg_latency"' in head and '"latencies"' in head
    is_throughput = '"elapsed_time"' in head and '"requests_per_second"' in head and '"total_num_tokens"' in head
    return head.lstrip().startswith("{") and (is_latency or is_throughput)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError."""
    result = dict_of(source.json())
    load = latency_of(result, ticket, {}) if "latencies" in result else throughput_of(result, ticket)
    if not load.rows:
        raise ImportRefusedError(f"{source.name} is of {load.tool}, but has no result.")
    return [load]


def latency_of(result: Mapping[str, Any], ticket: Ticket, arguments: Mapping[str, Any]) -> LoadBuilder:
    """Return the load of a latency; `arguments`: those of the benchmark, if the file has them."""
    load = LoadBuilder(ticket, LATENCY, None, LATENCY, ticket.file_date)
    latencies_s = [seconds for seconds in map(number, list_of(result.get("latencies"))) if seconds is not None]
    n = len(latencies_s) or None
    point = _point(arguments, is_batch=True)
    sd_ms = 1e3 * stdev(latencies_s) if len(latencies_s) > 1 else None
    load.result(point, "e2e_ms", "mean", result.get("avg_latency"), factor=1e3, n=n, sd=sd_ms)
    for percent, seconds in dict_of(result.get("percentiles")).items():
        load.result(point, "e2e_ms", percentile_name(percent), seconds, factor=1e3, n=n)
    load.params = {
        name: cut(value)
        for name, value in result.items()
        if name not in ("avg_latency", "std_latency", "latencies", "percentiles")
    }
    return load


def throughput_of(result: Mapping[str, Any], ticket: Ticket) -> LoadBuilder:
    """Return the load of a throughput."""
    load = LoadBuilder(ticket, THROUGHPUT, None, THROUGHPUT, ticket.file_date)
    for name, (metric, statistic) in JSON_TOTALS.items():
        if name in result:
            load.result(POINT, metric, statistic, result[name])
    load.params = {name: cut(value) for name, value in result.items() if name not in JSON_TOTALS and value is not None}
    return load


# --- printed ----------------------------------------------------------------------------------------------------------
def has_printed(content: str) -> bool:
    """Return whether a text contains what one of the two prints."""
    return any(_is_opening(line) for line in content.splitlines() if "latency" in line or "Throughput:" in line)


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each printed block of a text, and the text with their lines left empty."""
    return read_blocks(content, _blocks, PROGRAM, _printed_load, ticket, first_number)


def _is_opening(line: str) -> bool:
    latency = LATENCY_LINE.fullmatch(line[:200])
    return (latency is not None and not latency["sd"]) or THROUGHPUT_LINE.fullmatch(line[:200]) is not None


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    index = 0
    while index < len(lines):
        end = _block_end(lines, index)
        if end > index:
            yield index, end
        index = max(end, index + 1)


def _block_end(lines: Sequence[str], start: int) -> int:
    """Return the index behind the last line of the block that begins here; `start` itself if none does."""
    if not _is_opening(lines[start]):
        return start
    following = LATENCY_LINE if LATENCY_LINE.fullmatch(lines[start][:200]) else TOTAL_LINE
    end = start + 1
    while end < len(lines) and (match := following.fullmatch(lines[end][:200])):
        if following is LATENCY_LINE and match["mean"]:
            break  # the average is printed first: another block begins
        end += 1
    return end


def _printed_load(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    lines, command = block.lines, block.command
    tool = LATENCY if LATENCY_LINE.fullmatch(lines[0][:200]) else THROUGHPUT
    flags = command.values(FLAGS) if ("latency" in command.program) == (tool == LATENCY) else {}
    load = LoadBuilder(
        ticket, tool, None, tool, ticket.file_date, number=number, params=dict(flags), model=text(flags.get("model")),
        planned_requests=count(flags.get("num_prompts")) if tool == THROUGHPUT else None,
    )  # fmt: skip
    point = _point(flags, is_batch=tool == LATENCY)
    n = count(flags.get("num_iters")) if tool == LATENCY else None
    matches = [match for line in lines if (match := LATENCY_LINE.fullmatch(line))]
    deviation_s = next((float(match["seconds"]) for match in matches if match["sd"]), None)
    for line in lines:
        if match := LATENCY_LINE.fullmatch(line):
            if match["sd"]:
                continue  # belongs to the mean
            statistic = "mean" if match["mean"] else percentile_name(match["percent"])
            load.result(
                point, "e2e_ms", statistic, float(match["seconds"]), factor=1e3, n=n,
                population_sd=deviation_s if match["mean"] else None,
            )  # fmt: skip
        elif match := THROUGHPUT_LINE.fullmatch(line):
            _add_throughput(load, point, match)
        elif match := TOTAL_LINE.fullmatch(line):
            load.result(point, TOTAL_METRICS[match["side"]], "total", int(match["tokens"]))
    return load


def _point(flags: Mapping[str, JsonValue], is_batch: bool) -> MeasurementPoint:
    prompt_tokens, output_tokens = count(flags.get("input_len")), count(flags.get("output_len"))
    batch = count(flags.get("batch_size")) if is_batch else None
    name = f"{batch} at once" if batch else "a batch" if is_batch else "all requests"
    return MeasurementPoint(f"{shape_of(prompt_tokens, output_tokens)}{name}", batch, prompt_tokens, output_tokens)


def _add_throughput(load: LoadBuilder, point: MeasurementPoint, match: re.Match[str]) -> None:
    point = point._replace(name=f"{point.name}{match['setting'] or ''}")
    load.result(point, "request_tps", "mean", float(match["requests"]))
    load.result(point, "total_tps", "mean", float(match["total"]))
    if match["output"]:
        load.result(point, "output_tps", "mean", float(match["output"]))
