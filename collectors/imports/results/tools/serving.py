"""Reads the results of `vllm bench serve`, its sweeps, and `sglang.bench_serving`: one object per measurement.

Lists hold the seconds between pieces. Deviations divide by n. Bare Infinity and NaN, which are not JSON, are accepted.
A latency whose name does not end in `_ms` is in seconds.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.errors import error_kind
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools.printed_block import heading_params, without_blocks
from collectors.imports.results.values import after, count, cut, dict_of, item, list_of, number, pieces_us, scaled, text
from reasons import Code, Reason

VLLM, SGLANG = "vllm bench serve", "sglang.bench_serving"
TENSORRT = "TensorRT-LLM benchmark_serving"
SGLANG_OFFLINE = "sglang.bench_offline_throughput"
SWEEP = "vllm bench sweep"
LATENCIES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms", "e2e_latency": "e2e_ms"}
STATISTIC = re.compile(
    rf"(?P<statistic>mean|median|min|max|std|p\d{{1,2}}(?:\.\d{{1,3}})?)_(?P<what>{'|'.join(LATENCIES)})(?P<unit>_ms)?"
)
PERCENT = "spec_decode_acceptance_rate"
POSITIONS = "spec_decode_per_position_acceptance_rates"
TOTALS = {
    "output_throughput": ("output_tps", "mean"),
    "total_token_throughput": ("total_tps", "mean"),
    "total_throughput": ("total_tps", "mean"),
    "input_throughput": ("prompt_tps", "mean"),
    "request_throughput": ("request_tps", "mean"),
    "request_goodput": ("goodput_rps", "mean"),
    "request_goodput:": ("goodput_rps", "mean"),  # as TensorRT-LLM writes it
    "user_throughput": ("e2e_tps", "mean"),
    "duration": ("duration_s", "total"),
    "completed": ("requests", "total"),
    "failed": ("failed_requests", "total"),
    "max_output_tokens_per_s": ("peak_output_tps", "max"),
    "max_concurrent_requests": ("peak_concurrency", "max"),
    "concurrency": ("mean_concurrency", "mean"),
    "accept_length": ("acceptance_length", "mean"),
    "spec_decode_acceptance_length": ("acceptance_length", "mean"),
    PERCENT: ("acceptance_rate", "mean"),
    "total_input_tokens": ("prompt_tokens", "total"),
    "total_output_tokens": ("completion_tokens", "total"),
}
OLD_TOTALS = {  # of the lines that sglang.bench_serving wrote in 2024 for several rates; their latencies are in ms
    "total_input": "total_input_tokens", "total_output": "total_output_tokens",
    "output_token_throughput": "output_throughput",
}  # fmt: skip
TOKENS_PER_STEP = "avg_decoded_tokens_per_iter"  # of TensorRT-LLM, by statistic
LISTS = {"input_lens", "output_lens", "ttfts", "itls", "latencies", "e2els", "start_times", "queue_times",
         "generated_texts", "errors", "server_info", POSITIONS, TOKENS_PER_STEP}  # fmt: skip
MAX_OBJECT_LINES, MAX_WRAPPED_LINES = 400, 40
CSV_MARKS = {"max_concurrency", "request_throughput", "completed"}
WITHOUT_ANSWERS = ("duration_s", "requests", "failed_requests")
LATENCIES_ALONE_NOTE = "The file has latencies alone: neither requests nor a throughput."
NO_ANSWERS_NOTE = "No request was answered: speeds and latencies of 0 were left out."


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of such a result."""
    if _is_table(head):
        return True
    is_json = head.lstrip().startswith(("{", "["))
    has_mark = any(mark in head for mark in ('"endpoint_type"', '"tokenizer_id"', '"sharegpt_output_len"'))
    has_load = any(name in head for name in ('"max_concurrency"', '"request_throughput"', '"output_token_throughput"'))
    return is_json and has_mark and has_load


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return one load per measurement of the file; raises ImportRefusedError."""
    return [
        _read_one(source, line, _renamed(dict_of(result)), ticket, index)
        for index, (line, result) in enumerate(_measurements(source), 1)
    ]


# --- JSON within a text -----------------------------------------------------------------------------------------------
def has_printed(content: str) -> bool:
    """Return whether a text contains a measurement as JSON, on one line or on several."""
    return "request_throughput" in content and bool(_json_blocks(content.splitlines()))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each measurement in a text, and the text with their lines left empty."""
    lines = content.splitlines()
    loads: list[LoadBuilder] = []
    blocks = _json_blocks(lines) if "request_throughput" in content else []
    end_above = 0
    for start, end, result in blocks:
        load = load_with_results(result, ticket, first_number + len(loads))
        load.params |= heading_params(lines, start, end_above)
        load.line = start + 1
        loads.append(load)
        end_above = end
    return loads, without_blocks(lines, [(start, end) for start, end, _ in blocks])


def _json_blocks(lines: Sequence[str]) -> list[tuple[int, int, Mapping[str, Any]]]:
    """Return the complete measurements among the lines: the first line, the line behind the last, and the object."""
    blocks = []
    for start, line in enumerate(lines):
        if not line.lstrip().startswith("{"):
            continue
        end = start + 1 if line.rstrip().endswith("}") else _closing_line(lines, start)
        block = next(filter(_is_json, ("\n".join(lines[start:end]), "".join(lines[start:end]))), "")
        if block and recognise(block):
            result = dict_of(json.loads(block, parse_constant=str))
            if is_complete(result):
                blocks.append((start, end, result))
    return blocks


def _closing_line(lines: Sequence[str], start: int) -> int:
    """Return the index behind the line that closes the object of a line, alone on it or wrapped by a terminal."""
    closing = lines[start].rstrip().replace("{", "}")
    if closing.strip() != "}":
        wrapped = range(start + 1, min(len(lines), start + MAX_WRAPPED_LINES))
        opened = next((index for index in wrapped if lines[index].lstrip().startswith("{")), wrapped.stop)
        ends = (index + 1 for index in wrapped if index < opened and lines[index].rstrip().endswith("}"))
        return next(ends, start + 1)
    following = range(start + 1, min(len(lines), start + MAX_OBJECT_LINES))
    return next((index + 1 for index in following if lines[index].rstrip() == closing), start + 1)


# --- files ------------------------------------------------------------------------------------------------------------
def _measurements(source: ResultFile) -> list[tuple[int, Any]]:
    """Return the file's objects with their line numbers: a single one, a list, one per line, or the rows of a table."""
    if _is_table(source.head):
        return _table_rows(source)
    content = source.text().strip()
    if "\n" not in content or not _is_json(content.split("\n", 1)[0]):
        value = source.json()
        return [(1, measurement) for measurement in value] if isinstance(value, list) else [(1, value)]
    return list(source.json_lines())


def _is_table(head: str) -> bool:
    """Return whether a text begins with the columns of a sweep's `summary.csv`."""
    columns = set(head.split("\n", 1)[0].strip().split(","))
    return columns >= CSV_MARKS and bool(columns & {"tokenizer_id", "endpoint_type"})


def _table_rows(source: ResultFile) -> list[tuple[int, Any]]:
    """Return the rows of a sweep's table without its empty cells; the first column numbers the rows."""
    content = source.text()
    if not content.endswith("\n"):
        raise source.refusal(content.count("\n") + 1, "it is cut off here")
    reader = csv.DictReader(io.StringIO(content, newline=""), strict=True)
    rows: list[tuple[int, Any]] = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise source.refusal(reader.line_num, "this is not a complete line of the table")
            rows.append((reader.line_num, {name: _cell(cell) for name, cell in row.items() if name and cell}))
    except csv.Error as error:
        raise source.refusal(reader.line_num, f"this is not CSV ({error})") from error
    if not rows:
        raise source.refusal(1, "the table has no row")
    return rows


def _cell(cell: str) -> Any:
    """Return the value of a cell: a number, a list, a truth value, or its text."""
    try:
        return json.loads({"True": "true", "False": "false"}.get(cell, cell), parse_constant=str)
    except (ValueError, RecursionError):
        return cell


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _read_one(source: ResultFile, line: int, result: Mapping[str, Any], ticket: Ticket, index: int) -> LoadBuilder:
    has_latencies_alone = not is_complete(result) and _has_latencies(result)
    if not has_latencies_alone and not is_complete(result):
        raise source.refusal(line, "this is not a complete result: requests or throughput are missing")
    load = load_with_results(result, ticket, index)
    load.notes += [LATENCIES_ALONE_NOTE] if has_latencies_alone else []
    return load


def _has_latencies(result: Mapping[str, Any]) -> bool:
    """Return whether somebody kept only the latencies of a measurement: at least two means, and no count or speed."""
    has_others = any(result.get(name) is not None for name in ("completed", "duration", *TOTALS))
    means = [
        name for name in ("mean_ttft_ms", "mean_tpot_ms", "mean_itl_ms", "mean_e2el_ms") if number(result.get(name))
    ]
    return not has_others and len(means) > 1


def _renamed(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a measurement under today's names."""
    if not OLD_TOTALS.keys() <= result.keys():
        return result
    return {
        OLD_TOTALS.get(name) or (f"{name}_ms" if STATISTIC.fullmatch(name) else name): value
        for name, value in result.items()
    }


def is_complete(result: Mapping[str, Any]) -> bool:
    """Return whether a measurement has a speed and the number of requests."""
    if "max_concurrency" not in result and number(result.get("output_throughput")) is not None:
        return number(result.get("total_output_tokens")) is not None  # the old lines have no more
    has_speed = any(number(result.get(name)) is not None for name in ("request_throughput", "output_throughput"))
    return has_speed and count(result.get("completed")) is not None  # early ones state that of the output alone


def load_with_results(result: Mapping[str, Any], ticket: Ticket, index: int) -> LoadBuilder:
    """Return the load of a measurement."""
    load = _load_of(result, ticket, index)
    concurrency = count(result.get("max_concurrency"))
    point = _point(result, concurrency)
    has_answers = count(result.get("completed")) != 0
    load.notes += [] if has_answers else [NO_ANSWERS_NOTE]
    for name, (metric, statistic) in TOTALS.items():
        if result.get(name) is not None and (has_answers or metric in WITHOUT_ANSWERS):
            reasons = [Reason(Code.COUNTS_PIECES)] if metric == "peak_output_tps" else []
            factor = 0.01 if name == PERCENT else 1.0
            load.result(point, metric, statistic, result[name], factor=factor, reasons=reasons)
    for position, rate in enumerate(list_of(result.get(POSITIONS)) if has_answers else []):
        position_point = point._replace(name=f"{point.name}, draft position {position}")
        load.result(position_point, "position_acceptance_rate", "mean", rate)
    steps = dict_of(result.get(TOKENS_PER_STEP))
    if has_answers:
        _add_latencies(load, point, result)
        for statistic, value in {**steps, **dict_of(steps.get("percentiles"))}.items():
            if statistic != "std" and number(value):  # 0: the server states none
                load.result(point, "acceptance_length", statistic, value)
    _add_requests(load, result, concurrency)
    return load


def _load_of(result: Mapping[str, Any], ticket: Ticket, index: int) -> LoadBuilder:
    tool = TENSORRT if "user_throughput" in result else VLLM if "tokenizer_id" in result else SGLANG
    server = dict_of(result.get("server_info"))
    ended_at = _ended_at(result.get("date"), ticket)
    started_at = after(ended_at, -(number(result.get("duration")) or 0.0))
    params = {name: cut(value) for name, value in result.items() if name not in LISTS and name not in TOTALS
              and not STATISTIC.fullmatch(name) and value is not None}  # fmt: skip
    return LoadBuilder(
        ticket, tool, None, tool, started_at, number=index,
        params={name: value for name, value in params.items() if name != "date"},
        planned_requests=count(result.get("num_prompts")),
        model=text(result.get("model_id")) or text(server.get("model_path")),
    )  # fmt: skip


def _ended_at(date: Any, ticket: Ticket) -> datetime:
    """Return the end time; the file has no time zone, so this machine's is assumed."""
    try:
        return datetime.strptime(str(date), "%Y%m%d-%H%M%S").astimezone(UTC)
    except ValueError:
        return ticket.file_date


def _point(result: Mapping[str, Any], concurrency: int | None) -> MeasurementPoint:
    is_random = str(result.get("dataset_name") or "random").startswith("random")  # other data have their own lengths
    requested_tokens = [count(result.get(f"random_{side}_len")) if is_random else None for side in ("input", "output")]
    sizes = (
        requested_tokens
        if all(size is not None for size in requested_tokens)
        else [_uniform_length(result, "input"), _uniform_length(result, "output")]
    )
    load_text = f"{concurrency} at once" if concurrency else f"{result.get('request_rate')} requests/s"
    shape = f"pp{sizes[0]} tg{sizes[1]} " if None not in sizes else ""
    run_number = count(result.get("run_number"))
    run_text = "" if run_number is None else f", run {run_number}"
    return MeasurementPoint(f"{shape}{load_text}{run_text}", concurrency, sizes[0], sizes[1])


def _uniform_length(result: Mapping[str, Any], side: str) -> int | None:
    """Return the length of prompts or answers, if all have the same."""
    lengths = set(map(count, list_of(result.get(f"{side}_lens"))))
    return lengths.pop() if len(lengths) == 1 else None


def _add_latencies(load: LoadBuilder, point: MeasurementPoint, result: Mapping[str, Any]) -> None:
    for name, value in result.items():
        match = STATISTIC.fullmatch(name)
        if match is None or value is None or _is_repetition(match, result):
            continue
        quantity, unit, statistic = match["what"], match["unit"] or "", match["statistic"]
        n = _value_count(quantity, result)
        if statistic == "std":
            continue  # belongs to the mean
        population_sd = result.get(f"std_{quantity}{unit}") if statistic == "mean" else None
        load.result(
            point, LATENCIES[quantity], _statistic_name(match, result), value,
            factor=1.0 if unit else 1e3, n=n, population_sd=population_sd,
        )  # fmt: skip


def _statistic_name(match: re.Match[str], result: Mapping[str, Any]) -> str:
    """Return the statistic; p50 is the median, unless the file states another median."""
    is_median = match["statistic"] == "p50" and result.get(_median_of(match)) is None
    return "median" if is_median else match["statistic"]


def _is_repetition(match: re.Match[str], result: Mapping[str, Any]) -> bool:
    """Return whether the file states the same value once more: p50 and median, or milliseconds and seconds."""
    is_median_again = match["statistic"] == "p50" and result.get(_median_of(match)) == result.get(match[0])
    return is_median_again or (not match["unit"] and result.get(f"{match[0]}_ms") is not None)


def _median_of(match: re.Match[str]) -> str:
    return f"median_{match['what']}{match['unit'] or ''}"


def _value_count(latency_name: str, result: Mapping[str, Any]) -> int | None:
    """Return the number of values behind a statistic, if the file has them."""
    if latency_name == "tpot":
        lengths = [count(length) for length in list_of(result.get("output_lens"))]
        return sum(length is not None and length > 1 for length in lengths) or None
    if latency_name == "itl":
        return sum(len(list_of(gaps)) for gaps in list_of(result.get("itls"))) or None
    return count(result.get("completed"))


# --- requests ---------------------------------------------------------------------------------------------------------
def _add_requests(load: LoadBuilder, result: Mapping[str, Any], concurrency: int | None) -> None:
    ttfts, lengths = list_of(result.get("ttfts")), list_of(result.get("output_lens"))
    starts = list_of(result.get("start_times"))
    first_start_s = min(filter(None, map(number, starts)), default=0.0)
    for index in range(len(ttfts)):
        sent_s = number(item(starts, index))
        since_s = None if sent_s is None else sent_s - first_start_s
        load.request(
            **_request(result, index, ttfts, lengths),
            phase="measure", prompt_class="-", stream=0, concurrency=concurrency or len(ttfts),
            sent_at=after(load.ts, since_s or 0.0), since_phase_s=since_s, phase_index=0, sequence=index,
            extra={} if since_s is not None else {"sent_at": "not in the file: the time of the first request"},
        )  # fmt: skip
    if ttfts:
        duration = number(result.get("duration")) or 0.0
        load.phase(
            ts=after(load.ts, duration), phase_index=0, title=load.workload, kind="measure",
            concurrency=concurrency or len(ttfts), began_at=load.ts, duration_s=duration, planned_requests=len(ttfts),
            is_complete=True,
        )  # fmt: skip


def _request(result: Mapping[str, Any], index: int, ttfts: Sequence[Any], lengths: Sequence[Any]) -> dict[str, Any]:
    gaps = [number(gap) for gap in list_of(item(list_of(result.get("itls")), index))]
    error_text = text(item(list_of(result.get("errors")), index))
    ttft_ms = None if error_text else scaled(ttfts[index], 1e3)
    total_ms = scaled(item(list_of(result.get("latencies")), index), 1e3)
    if total_ms is None and ttft_ms is not None and None not in gaps:
        total_ms = ttft_ms + 1e3 * sum(gap for gap in gaps if gap is not None)
    pieces = pieces_us(ttft_ms, gaps)
    return {
        "ttft_ms": ttft_ms,
        "total_ms": None if error_text else total_ms,
        "decode_ms": total_ms - ttft_ms if total_ms is not None and ttft_ms is not None else None,
        "prompt_tokens": count(item(list_of(result.get("input_lens")), index)),
        "completion_tokens": None if error_text else count(item(lengths, index)),
        "chunks": pieces and len(pieces),
        "chunk_us": pieces,
        "error_kind": error_kind(error_text) if error_text else None,
        "error_text": error_text,
    }
