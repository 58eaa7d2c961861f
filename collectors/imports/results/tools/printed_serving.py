"""Reads the printed summaries of `vllm bench serve` and `sglang.bench_serving`: one load per summary of a text.

Other load testers print the same heading above lines of their own; a logger's time may stand before each line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.tools.printed import (
    PrintedLine,
    add_unknown,
    number_or_text,
    printed_lines,
)
from collectors.imports.results.tools.printed_block import (
    NO_COMMAND,
    BenchmarkCommand,
    command_among,
    heading_params,
    served_model,
)
from collectors.imports.results.tools.serving import SGLANG, SGLANG_OFFLINE, TENSORRT, VLLM
from collectors.imports.results.tools.side_by_side import parted_columns
from collectors.imports.results.values import after, count, text
from domain import JsonValue
from reasons import Code, Reason

OTHER_TOOL = "serving benchmark"
STAMP = re.compile(r"\s{0,12}\[?(?P<date>20\d\d[-/]\d\d[-/]\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:[.,]\d{1,9})?\]? ")
OPENING = re.compile(
    r"\s{0,12}={3,60} (?:(?P<heading>(?:[\w.-]{1,30} ){0,4})"
    r"(?:Serving|(?P<offline>Offline Throughput)) Benchmark Result|(?P<steady>Steady-State Result)) ={3,60}\s*"
)
PART = re.compile(
    r"\s{0,12}-{3,40} ?(?:Time to First Token|Time per Output Token \(excl\. 1st token\)|Inter-[Tt]oken Latency"
    r"|End-to-[Ee]nd Latency|Speculative Decoding|Client-side Queueing) ?-{3,40}\s*"
)
VALUE_LINE = re.compile(r"\s{0,12}[A-Za-z][\w ()/%.,+-]{1,60}: {0,60}(?:-?[\d.]{1,24}%?|inf|not set|[\w-]{2,20})?\s*")
CLOSING = re.compile(r"\s{0,12}={20,80}\s*")
METRICS = {
    "successful requests": ("requests", "total"),
    "failed requests": ("failed_requests", "total"),
    "benchmark duration": ("duration_s", "total"),
    "total input tokens": ("prompt_tokens", "total"),
    "total generated tokens": ("completion_tokens", "total"),
    "request throughput": ("request_tps", "mean"),
    "request goodput": ("goodput_rps", "mean"),
    "input token throughput": ("prompt_tps", "mean"),
    "output token throughput": ("output_tps", "mean"),
    "peak output token throughput": ("peak_output_tps", "max"),
    "peak concurrent requests": ("peak_concurrency", "max"),
    "total token throughput": ("total_tps", "mean"),
    "concurrency": ("mean_concurrency", "mean"),
    "accept length": ("acceptance_length", "mean"),
    "acceptance length": ("acceptance_length", "mean"),
    "acceptance rate": ("acceptance_rate", "mean"),
    "user throughput": ("e2e_tps", "mean"),  # of TensorRT-LLM: the tokens of each answer over its whole time
    "measurement duration": ("duration_s", "total"),  # of the steady part of a load
    "completed requests": ("requests", "total"),
    "input tokens": ("prompt_tokens", "total"),
    "generated tokens": ("completion_tokens", "total"),
    "average concurrency": ("mean_concurrency", "mean"),
    "peak concurrency": ("peak_concurrency", "max"),
    "peak output throughput": ("peak_output_tps", "max"),
    "prompt throughput": ("prompt_tps", "mean"),
    "generation throughput": ("output_tps", "mean"),
}
SGLANG_NAMES = {"backend", "traffic request rate", "total generated tokens (retokenized)"}
ALL_REQUESTS, SUCCESS_PERCENT = "number of total requests", "success rate (percent)"
LATENCIES = {
    "ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms", "e2e latency": "e2e_ms",
    "end to end latency": "e2e_ms", "end-to-end latency": "e2e_ms", "time to first token": "ttft_ms",
    "time per output token": "tpot_ms", "inter-token latency": "itl_ms", "inter token latency": "itl_ms",
    "avg decoded tokens per iter": "acceptance_length",
}  # fmt: skip
LATENCY = re.compile(
    rf"(?P<statistic>mean|median|min|max|std|p\d{{1,2}}(?:\.\d{{1,3}})?) (?P<what>{'|'.join(LATENCIES)})"
)
POSITION = re.compile(r"position (?P<number>\d{1,4})")
COUNTS = {  # without a unit in the label
    "total generated tokens (retokenized)": "tokens", "total input text tokens": "tokens",
    "total input vision tokens": "tokens", "total cached tokens": "tokens", "drafts": "drafts",
    "draft tokens": "tokens", "accepted tokens": "tokens",
}  # fmt: skip
TOKENS_PER_S = ("tok/s", "token/s", "tokens/s")
FACTORS = {"ms": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3}
CONCURRENCY_NAMES = ("max request concurrency", "max reqeuest concurrency", "maximum request concurrency")
RATE_NAMES = ("traffic request rate", "request rate configured")
ARGUMENT = re.compile(r"\b(?P<name>[a-z_]{3,40})=(?:'(?P<text>[^']{0,400})'|(?P<plain>True|False|[\d.]{1,20}|inf))")
ARGUMENTS = (
    "model", "tokenizer", "backend", "endpoint", "dataset_name", "num_prompts", "request_rate", "max_concurrency",
    "burstiness", "random_input_len", "random_output_len", "random_range_ratio", "sharegpt_output_len", "ignore_eos",
    "temperature", "seed",
)  # fmt: skip
ARGUMENTS_OF_SERVER = ("model", "tokenizer", "backend", "endpoint")
PROGRAM = re.compile(r"\bvllm bench serve\b|\bbenchmark_serving\b|\bbench_serving\b|\bprofile_restful_api\b")
RENAMED = {
    "input_len": "random_input_len", "output_len": "random_output_len", "random_input": "random_input_len",
    "random_output": "random_output_len", "num_prompt": "num_prompts",
}  # fmt: skip
MAX_ARGUMENT_CHARS = 40_000
MAX_LINES_ABOVE = 40


class SummaryLimits(NamedTuple):
    """The first line of a summary, the line behind its last, and whether it has a closing line."""

    start: int
    end: int
    is_closed: bool


def has_printed(head: str) -> bool:
    """Return whether a text contains such a summary."""
    lines = head.splitlines() if _may_have(head) else []
    return bool(_limits(_unstamped(lines))) or bool(parted_columns(lines, _opens)[0])


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return one load per summary of a text, and the text with their lines left empty."""
    if not _may_have(content):
        return [], content
    columns, lines = parted_columns(content.splitlines(), _opens)
    loads, lines = _read_summaries(lines, ticket, first_number)
    for column in columns:
        loads_of_column, _ = _read_summaries(column.lines, ticket, first_number + len(loads))
        for load in loads_of_column if column.heading else []:
            load.params["heading"] = column.heading
            load.line = None
        loads += loads_of_column
    return loads, "\n".join(lines)


def _read_summaries(
    stamped_lines: Sequence[str], ticket: Ticket, first_number: int
) -> tuple[list[LoadBuilder], list[str]]:
    """Return the loads of the summaries below each other, and the lines with theirs left empty."""
    lines = _unstamped(stamped_lines)
    loads: list[LoadBuilder] = []
    end, remaining_lines, command = 0, list(stamped_lines), NO_COMMAND
    model: str | None = None
    for limits in _limits(lines):
        start = limits.start
        command = command_among(lines[end:start], PROGRAM) or command
        model = served_model(lines[end:start]) or model
        above = lines[max(end, start - MAX_LINES_ABOVE) : start]
        opening = OPENING.fullmatch(lines[start])
        heading = _heading(lines, start, end, opening)
        end_above, end = end, limits.end
        block = list(printed_lines(enumerate(lines[start + bool(opening) : end], start + 1 + bool(opening))))
        of_command = _without_other_load(_command_arguments(command), block)
        arguments = of_command | _arguments(lines[end_above:start]) | _settings(above)
        load = _load_of(block, arguments, ticket, first_number + len(loads))
        if opening and (opening["offline"] or opening["steady"]):
            load.tool = load.workload = SGLANG_OFFLINE if opening["offline"] else SGLANG
        load.params |= heading
        load.line = start + 1
        load.model = load.model or model
        load.ts = _started_at(stamped_lines[start], load)
        load.notes += [] if opening else ["The summary has no opening line: its first lines may be cut off."]
        if not limits.is_closed and load.tool != OTHER_TOOL:
            load.notes.append("The summary has no closing line: it may be cut off.")
        loads.append(load)
        remaining_lines[start:end] = [""] * (end - start)
    return loads, remaining_lines


def _may_have(content: str) -> bool:
    return any(mark in content for mark in (" Benchmark Result =", " Steady-State Result =", "Token--", "Latency--"))


def _unstamped(lines: Sequence[str]) -> list[str]:
    return [STAMP.sub("", line, count=1) if STAMP.match(line) else line for line in lines]


def _limits(lines: Sequence[str]) -> list[SummaryLimits]:
    """Return where the summaries stand: from an opening line, or from the first of the values above a part's title."""
    limits: list[SummaryLimits] = []
    openings = [index for index, line in enumerate(lines) if _opens(line)]
    for opening, following in zip(openings, [*openings[1:], len(lines)], strict=False):
        closing = next((i for i in range(opening + 1, following) if CLOSING.fullmatch(lines[i][:200])), None)
        limits.append(SummaryLimits(opening, following if closing is None else closing + 1, closing is not None))
    opened = {index for summary in limits for index in range(summary.start, summary.end)}
    end = 0
    for index, line in enumerate(lines):
        if index >= end and index not in opened and PART.fullmatch(line[:200]):
            start, end = _values_around(lines, index, end)
            is_closed = end < len(lines) and CLOSING.fullmatch(lines[end][:200]) is not None
            end += is_closed
            limits.append(SummaryLimits(start, end, is_closed))
    return sorted(limits)


def _values_around(lines: Sequence[str], index: int, end_above: int) -> tuple[int, int]:
    """Return the first of the lines of values around a part's title, and the line behind their last."""
    start, end = index, index + 1
    while start > end_above and VALUE_LINE.fullmatch(lines[start - 1][:200]):
        start -= 1
    while end < len(lines) and (VALUE_LINE.fullmatch(lines[end][:200]) or PART.fullmatch(lines[end][:200])):
        end += 1
    return start, end


def _opens(line: str) -> bool:
    return len(line) < 200 and OPENING.fullmatch(STAMP.sub("", line, count=1)) is not None


def _started_at(opening: str, load: LoadBuilder) -> datetime:
    """Return the time before the opening line, less the duration; it has no time zone: this machine's is assumed."""
    match = STAMP.match(opening)
    if match is None:
        return load.ts
    try:
        ended_at = datetime.fromisoformat(f"{match['date'].replace('/', '-')}T{match['time']}").astimezone(UTC)
    except ValueError:
        return load.ts
    duration_s = next((row.value for row in load.result_rows if row.metric == "duration_s"), None)
    return after(ended_at, -(duration_s or 0.0))


def _heading(lines: Sequence[str], start: int, end_above: int, opening: re.Match[str] | None) -> dict[str, JsonValue]:
    """Return the words within the opening line, or the heading above it, as a parameter."""
    words = (opening["steady"] or opening["heading"]).strip() if opening else ""
    return {"heading": words} if words else heading_params(lines, start, end_above)


def _command_arguments(command: BenchmarkCommand) -> dict[str, JsonValue]:
    """Return the arguments of the last command above a summary under the names of `Namespace(...)`."""
    values = command.values((*ARGUMENTS, *RENAMED))
    return {RENAMED.get(name, name): value for name, value in values.items()}


def _without_other_load(arguments: Mapping[str, JsonValue], block: Sequence[PrintedLine]) -> dict[str, JsonValue]:
    """Return arguments without the load of a command that sent fewer requests than succeeded: it is another one's."""
    planned = count(arguments.get("num_prompts"))
    is_other = planned is not None and (_requests({line.name: line for line in block}) or 0) > planned
    return {name: value for name, value in arguments.items() if not is_other or name in ARGUMENTS_OF_SERVER}


def _arguments(lines: Sequence[str]) -> dict[str, JsonValue]:
    """Return the arguments in the last line `Namespace(...)` before a summary."""
    namespace = next((line for line in reversed(lines) if "Namespace(" in line), "")[:MAX_ARGUMENT_CHARS]
    return {
        match["name"]: number_or_text(match["plain"]) if match["text"] is None else match["text"]
        for match in ARGUMENT.finditer(namespace)
        if match["name"] in ARGUMENTS
    }


def _settings(lines: Sequence[str]) -> dict[str, JsonValue]:
    """Return concurrency and rate as the tool prints them when it begins, above its summary."""
    settings: dict[str, JsonValue] = {}
    for line in printed_lines(enumerate(lines)):
        if line.name in CONCURRENCY_NAMES and count(line.value):
            settings["max_concurrency"] = line.value
        elif line.name in RATE_NAMES and line.value is not None:
            settings["request_rate"] = line.value
    return settings


def _load_of(
    block: Sequence[PrintedLine], arguments: Mapping[str, JsonValue], ticket: Ticket, number: int
) -> LoadBuilder:
    block = [line._replace(name=line.name.replace("std dev ", "std ")) for line in block]
    by_name = {line.name: line for line in block}
    is_sglang = not SGLANG_NAMES.isdisjoint(by_name)
    is_vllm = "total input tokens" in by_name or "successful requests" in by_name
    is_tensorrt = "user throughput" in by_name
    tool = SGLANG if is_sglang else TENSORRT if is_tensorrt else VLLM if is_vllm else OTHER_TOOL
    requests = _requests(by_name)
    load = LoadBuilder(
        ticket, tool, None, tool, ticket.file_date, number=number, params=dict(arguments),
        model=text(arguments.get("model")),
        planned_requests=count(_value(by_name.get(ALL_REQUESTS))) or count(arguments.get("num_prompts")),
    )  # fmt: skip
    is_level = tool == OTHER_TOOL and count(_value(by_name.get("concurrency"))) is not None  # a fraction is a mean
    if is_level:
        arguments = {**arguments, "max_concurrency": by_name["concurrency"].value}
    point = _point(by_name, arguments)
    for line in block:
        if line.name != "concurrency" or not is_level:
            _add_line(load, point, line, by_name, requests)
    if "successful requests" not in by_name and requests is not None:
        load.result(point, "requests", "total", requests)
    return load


def _requests(by_name: Mapping[str, PrintedLine]) -> int | None:
    """Return the number of successful requests: as printed, or of all if every one succeeded."""
    if "successful requests" in by_name:
        return count(by_name["successful requests"].value)
    return count(_value(by_name.get(ALL_REQUESTS))) if _value(by_name.get(SUCCESS_PERCENT)) == 100 else None


def _point(by_name: Mapping[str, PrintedLine], arguments: Mapping[str, JsonValue]) -> MeasurementPoint:
    stated_concurrency = next((by_name[name].value for name in CONCURRENCY_NAMES if name in by_name), None)
    concurrency = count(stated_concurrency) or count(arguments.get("max_concurrency"))
    rate = next((by_name[name].value for name in RATE_NAMES if name in by_name), arguments.get("request_rate"))
    sizes = [count(arguments.get(f"random_{side}_len")) for side in ("input", "output")]
    if arguments.get("dataset_name") not in (None, "random") or None in sizes:
        sizes = [None, None]
    load_text = f"{concurrency} at once" if concurrency else f"{rate} requests/s" if rate else "all requests"
    shape = f"pp{sizes[0]} tg{sizes[1]} " if None not in sizes else ""
    return MeasurementPoint(f"{shape}{load_text}", concurrency, sizes[0], sizes[1])


def _add_line(
    load: LoadBuilder, point: MeasurementPoint, line: PrintedLine, by_name: Mapping[str, PrintedLine], n: int | None
) -> None:
    total_name = line.name.removeprefix("mean ")
    if total_name == "total throughput" and line.unit in TOKENS_PER_S:  # older SGLang
        total_name = "total token throughput"
    if total_name in METRICS and line.value is not None:
        metric, statistic = METRICS[total_name]
        reasons = [Reason(Code.COUNTS_PIECES)] if metric == "peak_output_tps" else []
        factor = 0.01 if line.unit == "%" else 1.0
        load.result(point, metric, statistic, line.value, factor=factor, reasons=reasons)
    elif (match := LATENCY.fullmatch(line.name)) and line.value is not None:
        _add_latency(load, point, match, line, by_name, n)
    elif line.name in RATE_NAMES:
        load.params[line.label] = line.value
    elif match := POSITION.fullmatch(line.name):
        position_point = point._replace(name=f"{point.name}, draft position {match['number']}")
        load.result(position_point, "position_acceptance_rate", "mean", line.value, factor=0.01)
    else:
        add_unknown(load, point, line._replace(unit=line.unit or COUNTS.get(line.name)))


def _add_latency(
    load: LoadBuilder, point: MeasurementPoint, match: re.Match[str], line: PrintedLine,
    by_name: Mapping[str, PrintedLine], n: int | None,
) -> None:  # fmt: skip
    """Add a latency, unless it is p50 and the median stands there too; a deviation belongs to its mean."""
    statistic, latency = match["statistic"], match["what"]
    if statistic == "std" and f"mean {latency}" in by_name:
        return
    median = by_name.get(f"median {latency}")
    if statistic == "p50" and median is not None and median.value == line.value:
        return
    deviation = by_name.get(f"std {latency}") if statistic == "mean" else None
    is_median = statistic == "p50" and median is None
    load.result(
        point, LATENCIES[latency], "median" if is_median else statistic, line.value,
        factor=FACTORS.get(line.unit or "ms", 1.0),
        n=n if latency not in ("tpot", "itl") else None, population_sd=_value(deviation),
    )  # fmt: skip


def _value(line: PrintedLine | None) -> Any:
    return line.value if line else None
