"""Reads trtllm-bench: its printed report, and the JSON of `--report_json`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed import (
    PrintedLine,
    add_unknown,
    number_or_text,
    printed_line,
    printed_text,
)
from collectors.imports.results.tools.printed_block import (
    FENCE,
    NO_COMMAND,
    command_among,
    heading_params,
    model_of,
    without_blocks,
)
from collectors.imports.results.values import count, cut, dict_of, number, text

TOOL = "trtllm-bench"
LABELS = {  # of the printed report, in lower case and without the unit
    "request throughput": ("request_tps", "mean", 1.0),
    "total output throughput": ("output_tps", "mean", 1.0),
    "token throughput": ("output_tps", "mean", 1.0),
    "total token throughput": ("total_tps", "mean", 1.0),
    "total latency": ("duration_s", "total", 1e-3),
    "average request latency": ("e2e_ms", "mean", 1.0),
    "per user output throughput [w/ ctx]": ("e2e_tps", "mean", 1.0),
    "per user output throughput": ("e2e_tps", "mean", 1.0),
    "per gpu output throughput": ("output_tps_per_gpu", "mean", 1.0),
    "average time-to-first-token [ttft]": ("ttft_ms", "mean", 1.0),
    "average time-per-output-token [tpot]": ("tpot_ms", "mean", 1.0),
    "average time-to-first-token": ("ttft_ms", "mean", 1.0),
    "average time-per-output-token": ("tpot_ms", "mean", 1.0),
    "average inter-token latency": ("tpot_ms", "mean", 1.0),
    "per user output speed": ("decode_tps", "mean", 1.0),
    "per user output speed [1/tpot]": ("decode_tps", "mean", 1.0),
    "number of requests": ("requests", "total", 1.0),
    "number of concurrent requests": ("mean_concurrency", "mean", 1.0),
    "average input length": ("prompt_tokens", "mean", 1.0),
    "average output length": ("completion_tokens", "mean", 1.0),
}
BREAKDOWNS = {
    "latency": "e2e_ms", "tpot": "tpot_ms", "ttft": "ttft_ms", "gtps": "decode_tps", "dar": "acceptance_rate",
    "al": "acceptance_length",
}  # fmt: skip
OTHER_BREAKDOWNS = {"dt": "draft tokens of a request", "adt": "accepted draft tokens of a request"}
BREAKDOWN = re.compile(r"\[(?P<what>[a-z]{2,8})\] (?P<statistic>minimum|maximum|average|p\d{1,2}(?:\.\d{1,2})?)")
STATISTICS = {"minimum": "min", "maximum": "max", "average": "mean", "p50": "median"}
LENGTHS = re.compile(
    r"\s{0,8}(?P<statistic>MIN|MAX|AVG|P\d{1,2}): {1,40}(?P<lengths>[\d.]{1,20}(?: {1,40}[\d.]{1,20}){2})\s*"
)
REPORT_FIELDS = {  # section and name in the JSON -> label of the printed report
    "performance": {
        "request_throughput_req_s": "request throughput", "system_output_throughput_tok_s": "total output throughput",
        "system_total_throughput_tok_s": "total token throughput", "total_latency_ms": "total latency",
        "avg_request_latency_ms": "average request latency",
        "output_throughput_per_user_tok_s": "per user output throughput",
        "output_throughput_per_gpu_tok_s": "per gpu output throughput",
    },
    "streaming_metrics": {
        "token_output_speed_tok_s": "per user output speed", "avg_ttft_ms": "average time-to-first-token [ttft]",
        "avg_tpot_ms": "average time-per-output-token [tpot]",
    },
    "request_info": {
        "num_requests": "number of requests", "avg_num_concurrent_requests": "number of concurrent requests",
        "avg_input_length": "average input length", "avg_output_length": "average output length",
    },
}  # fmt: skip
REPORT_PERCENTILES = {
    ("performance", "request_latency_percentiles_ms"): "e2e_ms",
    ("streaming_metrics", "tpot_percentiles"): "tpot_ms",
    ("streaming_metrics", "ttft_percentiles"): "ttft_ms",
    ("streaming_metrics", "gen_tps_percentiles"): "decode_tps",
    ("decoding_stats", "draft_acceptance_rate_percentiles"): "acceptance_rate",
    ("decoding_stats", "acceptance_length_percentiles"): "acceptance_length",
}
OVERVIEW = re.compile(r"^[ \t]{0,8}= (?:PERFORMANCE OVERVIEW|STATISTICS)[ \t]*$", re.MULTILINE)
STAMP = re.compile(r"\s{0,8}\[\d")  # of a line of the engine's log
MARKDOWN = re.compile(
    r"^[ \t]{0,8}(?:`{3}|~{3}|#{1,6} |\*\*|<pre|<details)", re.MULTILINE
)  # of a text that quotes a report
RATE_SENT = "Issue Rate"
POINT = MeasurementPoint("all requests")
PROGRAM = re.compile(r"\btrtllm-bench\b")
SETTINGS = {"Quantization": "quantization", "KV Cache Dtype": "kv_cache_dtype", "TP Size": "tensor_parallel"}


def recognise(head: str) -> bool:
    """Return whether a text contains the printed report, or is the JSON of one."""
    is_json = head.lstrip().startswith("{") and '"world_info"' in head and '"request_throughput_req_s"' in head
    return is_json or (OVERVIEW.search(head) is not None and MARKDOWN.search(head) is None)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a file, one for each report; raises ImportRefusedError."""
    if source.head.lstrip().startswith("{"):
        loads = [LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)]
        _read_json(loads[0], dict_of(source.json()))
    else:
        loads, _ = read_printed(printed_text(source), ticket, 0)
    loads = [load for load in loads if load.rows]
    if not loads:
        raise ImportRefusedError(f"{source.name} is a report of trtllm-bench, but has no result.")
    return loads


# --- printed ----------------------------------------------------------------------------------------------------------
def has_printed(content: str) -> bool:
    """Return whether a text contains a report."""
    return OVERVIEW.search(content) is not None


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each report of a text, and the text with their lines left empty.

    Of several each has the heading above it.
    """
    if not has_printed(content):
        return [], content
    lines = content.splitlines()
    starts = _starts_of_reports(lines)
    blocks: list[tuple[int, int]] = []
    loads: list[LoadBuilder] = []
    end_above, command = 0, NO_COMMAND
    fences = [index for index, line in enumerate(lines) if FENCE.fullmatch(line[:40])]
    for start, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        fence = bisect_right(fences, start)
        end = min(fences[fence], following) if fence < len(fences) else following
        number = first_number + len(loads)
        load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, number=number, line=start + 1)
        if len(starts) > 1:
            load.params |= heading_params(lines, start, end_above)
        command = command_among(lines[end_above:start], PROGRAM) or command
        concurrency = count(command.values(["concurrency"]).get("concurrency"))
        point = MeasurementPoint(f"{concurrency} at once", concurrency) if concurrency else POINT
        end_above = _read_printed(load, point, lines, start if loads else 0, end)
        load.model = load.model or model_of(command)
        stated_parallel = count(command.values(["tp"]).get("tp"))
        load.server_config = ({"tensor_parallel": stated_parallel} if stated_parallel else {}) | load.server_config
        loads.append(load)
        blocks.append((start, max(start, end_above)))
    return loads, without_blocks(lines, blocks)


def _starts_of_reports(lines: Sequence[str]) -> list[int]:
    """Return the lines above the first section of each report: a section that stood already begins another one."""
    starts: list[int] = []
    sections: set[str] = set()
    for index, line in enumerate(lines):
        if not _is_section(lines, index):
            continue
        if not starts or line.strip() in sections:
            starts.append(_with_rate(lines, index - 1))
            sections.clear()
        sections.add(line.strip())
    return starts or [0]


def _with_rate(lines: Sequence[str], start: int) -> int:
    """Return where a report begins: with the rate at which its requests were sent, if that stands right above."""
    above = next((index for index in range(start - 1, max(-1, start - 4), -1) if lines[index].strip()), start)
    return above if above >= 0 and lines[above].strip().startswith(RATE_SENT) else start


def _is_section(lines: Sequence[str], index: int) -> bool:
    return lines[index].strip().startswith("= ") and index > 0 and lines[index - 1].strip().startswith("=====")


def _read_printed(load: LoadBuilder, point: MeasurementPoint, lines: Sequence[str], start: int, end: int) -> int:
    """Add the lines of a report and return the index behind the last; the engine's before it have no such form."""
    is_report, last = False, start
    for index in range(start, end):
        line = lines[index]
        is_report = is_report or _is_section(lines, index) or line.strip().startswith(RATE_SENT)
        if is_report and (lengths := LENGTHS.fullmatch(line[:200])):
            cells = dict(zip(("input", "output", "total"), lengths["lengths"].split(), strict=True))
            load.params[f"dataset {lengths['statistic']}"] = {
                name: number_or_text(cell) for name, cell in cells.items()
            }
        elif is_report and not STAMP.match(line) and (parts := printed_line(index + 1, line)):
            _add_line(load, point, parts)
            last = last if parts.value is None else index + 1
    load.model = text(load.params.get("Model"))
    load.tool_version = text(load.params.get("TensorRT LLM Version")) or text(load.params.get("TensorRT-LLM Version"))
    stated_settings = {field: load.params.get(label) for label, field in SETTINGS.items()}
    load.server_config |= {field: value for field, value in stated_settings.items() if value not in (None, "None")}
    return last


def _add_line(load: LoadBuilder, point: MeasurementPoint, line: PrintedLine) -> None:
    breakdown = BREAKDOWN.fullmatch(line.name)
    if line.name in LABELS and line.value is not None:
        _add_label(load, point, line.name, line.value, 1.0 if line.unit == "seconds" else None)
    elif breakdown and breakdown["what"] in BREAKDOWNS:
        _add_once(load, point, BREAKDOWNS[breakdown["what"]], _statistic(breakdown["statistic"]), line.value)
    elif breakdown and breakdown["what"] in OTHER_BREAKDOWNS:
        add_unknown(load, point, line._replace(unit="tokens"))
    elif line.name.startswith("issue rate"):
        load.params[line.label] = line.value
    else:
        add_unknown(load, point, line)


def _add_label(
    load: LoadBuilder, point: MeasurementPoint, label: str, value: Any, own_factor: float | None = None
) -> None:
    """Add a value of the overview; `own_factor`: of a line that has another unit than today's reports."""
    metric, statistic, factor = LABELS[label]
    _add_once(load, point, metric, statistic, value, own_factor or factor)


def _add_once(
    load: LoadBuilder, point: MeasurementPoint, metric: str, statistic: str, value: Any, factor: float = 1.0
) -> None:
    """Add a value; the report repeats the means of its breakdowns in its overview."""
    if not any((row.metric, row.statistic, row.point) == (metric, statistic, point.name) for row in load.result_rows):
        load.result(point, metric, statistic, value, factor=factor)


def _statistic(name: str) -> str:
    return STATISTICS.get(name, name)


# --- JSON -------------------------------------------------------------------------------------------------------------
def _read_json(load: LoadBuilder, report: Mapping[str, Any]) -> None:
    engine = dict_of(report.get("engine"))
    load.model, load.tool_version = text(engine.get("model")), text(engine.get("version"), 60)
    stated_settings = {
        "quantization": text(engine.get("quantization")),
        "kv_cache_dtype": text(engine.get("kv_cache_dtype")),
        "tensor_parallel": count(dict_of(report.get("world_info")).get("tp_size")),
    }
    load.server_config |= {name: value for name, value in stated_settings.items() if value is not None}
    for section in ("engine", "machine", "world_info", "dataset"):
        for name, value in dict_of(report.get(section)).items():
            load.params |= {f"{section}.{name}": cut(value)} if value is not None else {}
    for section, labels in REPORT_FIELDS.items():
        values = dict_of(report.get(section))
        for name, label in labels.items():
            if name in values:
                _add_label(load, POINT, label, values[name])
    for (section, name), metric in REPORT_PERCENTILES.items():
        for statistic, value in dict_of(dict_of(report.get(section)).get(name)).items():
            if number(value) is not None and BREAKDOWN.fullmatch(f"[latency] {statistic}"):
                _add_once(load, POINT, metric, _statistic(statistic), value)
