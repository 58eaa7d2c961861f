"""Reads the JSON and CSV results of llama-benchy. Its deviations divide by n."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, dict_of, list_of, text
from reasons import Code, Reason

TOOL = "llama-benchy"
NAMES: Mapping[str, str] = {  # name in the JSON -> Pitwall's
    "pp_throughput": "prompt_tps",
    "pp_req_throughput": "prompt_tps_per_request",
    "tg_throughput": "output_tps",
    "tg_req_throughput": "decode_tps",
    "peak_throughput": "peak_output_tps",
    "peak_req_throughput": "peak_decode_tps",
    "ttfr": "ttfr_ms",
    "est_ppt": "prompt_ms",
    "e2e_ttft": "ttft_ms",
}
PER_REQUEST = {"pp_req_throughput", "tg_req_throughput", "peak_req_throughput", "ttfr", "est_ppt", "e2e_ttft"}
DECODE_METRICS = {"output_tps", "decode_tps", "peak_output_tps", "peak_decode_tps"}
COLUMNS = {"t_s": 0, "t_s_req": 1, "peak_ts": 2, "peak_ts_req": 3, "ttfr": 4, "est_ppt": 5, "e2e_ttft": 6}  # of the CSV
PROMPT_METRICS = ("prompt_tps", "prompt_tps_per_request", None, None, "ttfr_ms", "prompt_ms", "ttft_ms")
OUTPUT_METRICS = ("output_tps", "decode_tps", "peak_output_tps", "peak_decode_tps", None, None, None)
TEST = re.compile(
    r"(?P<what>ctx_pp|ctx_tg|pp|tg)(?P<tokens>\d{1,9})?(?: @ d(?P<depth>\d{1,9}))?(?: \(c(?P<at_once>\d{1,6})\))?"
)


def chunk_count_reason(version: str | None) -> Reason | None:
    """Return the reason why decode speeds may count chunks; None for a version that counts tokens."""
    if version is None:
        return Reason(Code.MAY_COUNT_CHUNKS)
    version_match = re.match(r"(\d+)\.(\d+)", version)
    is_old = version_match is None or (int(version_match[1]), int(version_match[2])) < (0, 4)
    return Reason(Code.COUNTS_CHUNKS) if is_old else None


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of llama-benchy's JSON or CSV."""
    is_json = head.lstrip().startswith("{") and '"benchmarks"' in head and '"pp_throughput"' in head
    return is_json or head.startswith("model,test_name,t_s_mean,t_s_std")


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a file; raises ImportRefusedError."""
    if source.head.lstrip().startswith("{"):
        return [_read_json(source, ticket)]
    return [_read_csv(source, ticket)]


# --- JSON -------------------------------------------------------------------------------------------------------------
def _read_json(source: ResultFile, ticket: Ticket) -> LoadBuilder:
    report = dict_of(source.json())
    grid = [dict_of(benchmark) for benchmark in list_of(report.get("benchmarks"))]
    if not grid:
        raise ImportRefusedError(f"{source.name} has no benchmark.")
    settings = {name: report.get(name) for name in ("latency_mode", "prefix_caching_enabled", "max_concurrency")}
    load = LoadBuilder(
        ticket, TOOL, text(report.get("version")), TOOL, _stamp(report.get("timestamp")) or ticket.file_date,
        params=settings, model=text(report.get("model")),
    )  # fmt: skip
    runs = max(len(_values(benchmark, "pp_throughput")) for benchmark in grid)
    for benchmark in grid:
        _add_benchmark(load, benchmark, runs)
    return load


def _stamp(value: Any) -> datetime | None:
    try:
        return datetime.strptime(str(value), "%Y-%m-%d %H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _values(benchmark: Mapping[str, Any], name: str) -> list[Any]:
    return list(list_of(dict_of(benchmark.get(name)).get("values")))


def _add_benchmark(load: LoadBuilder, benchmark: Mapping[str, Any], runs: int) -> None:
    concurrency = count(benchmark.get("concurrency")) or 1
    point = point_of(
        count(benchmark.get("prompt_size")), count(benchmark.get("response_size")),
        count(benchmark.get("context_size")) or 0, concurrency,
        is_context=benchmark.get("is_context_prefill_phase") is True,
    )  # fmt: skip
    for name, metric in NAMES.items():
        statistics, values = dict_of(benchmark.get(name)), _values(benchmark, name)
        if statistics:
            expected_count = runs * concurrency if name in PER_REQUEST else runs
            missing = Reason(Code.VALUES_MISSING, values={"present": len(values), "wanted": expected_count})
            reasons = [missing] if 0 < len(values) < expected_count else []
            reasons += (
                [reason] if metric in DECODE_METRICS and (reason := chunk_count_reason(load.tool_version)) else []
            )
            add(load, point, metric, statistics.get("mean"), statistics.get("std"), len(values) or None, reasons)


def point_of(
    prompt: int | None, output: int | None, depth: int, concurrency: int, is_context: bool = False
) -> MeasurementPoint:
    """Return a point of the grid, named 'pp2048 tg128 d0 c1'; filling the context is a separate point."""
    label = "ctx" if is_context else " ".join(
        size for size in (prompt is not None and f"pp{prompt}", output is not None and f"tg{output}") if size
    )  # fmt: skip
    return MeasurementPoint(f"{label} d{depth} c{concurrency}", concurrency, prompt, output, depth)


def add(
    load: LoadBuilder,
    point: MeasurementPoint,
    metric: str,
    mean: Any,
    population_sd: Any,
    n: int | None,
    reasons: Iterable[Reason] = (),
) -> None:
    """Add a mean with its standard deviation."""
    load.result(point, metric, "mean", mean, n=n, population_sd=population_sd, reasons=reasons)


# --- CSV --------------------------------------------------------------------------------------------------------------
def _read_csv(source: ResultFile, ticket: Ticket) -> LoadBuilder:
    content = source.text()
    with source.refusing_bad_csv():
        rows = list(csv.DictReader(io.StringIO(content, newline="")))
    if not rows:
        raise ImportRefusedError(f"{source.name} has no benchmark.")
    if not content.endswith("\n"):
        raise source.refusal(len(rows) + 1, "it is cut off here")
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date, model=text(rows[0].get("model")))
    tests = [_parse_test(source, number, row) for number, row in enumerate(rows, 2)]
    for row, (point, is_prompt) in zip(rows, points_of(tests), strict=True):
        for column, metric_index in COLUMNS.items():
            metric = (PROMPT_METRICS if is_prompt else OUTPUT_METRICS)[metric_index]
            if metric and row.get(f"{column}_mean"):
                reasons = [Reason(Code.MAY_COUNT_CHUNKS)] if metric in DECODE_METRICS else []
                add(load, point, metric, _float(row[f"{column}_mean"]), _float(row.get(f"{column}_std")), None, reasons)
    return load


def _float(cell: Any) -> Any:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell


def _parse_test(source: ResultFile, line: int, row: Mapping[str, Any]) -> re.Match[str]:
    match = TEST.fullmatch(row.get("test_name") or "")
    if match is None or None in row or None in row.values():
        raise source.refusal(line, "this is not a complete line of llama-benchy")
    return match


# --- rows of CSV and Markdown -----------------------------------------------------------------------------------------
def points_of(tests: Iterable[re.Match[str]]) -> list[tuple[MeasurementPoint, bool]]:
    """Return the point of each row and whether it is a prompt row; a prompt row belongs to the decode row below it."""
    rows, points = list(tests), []
    for index, test in enumerate(rows):
        neighbor = rows[index + (1 if is_prompt_test(test) else -1) :][:1] if index or is_prompt_test(test) else []
        paired_rows = [
            candidate
            for candidate in neighbor
            if _settings(candidate) == _settings(test) and is_prompt_test(candidate) != is_prompt_test(test)
        ]
        sizes = {is_prompt_test(paired_test): paired_test["tokens"] for paired_test in (*paired_rows, test)}
        prompt, output = (int(size) if (size := sizes.get(is_prompt)) else None for is_prompt in (True, False))
        depth, concurrency = int(test["depth"] or 0), int(test["at_once"] or 1)
        is_context = test["what"].startswith("ctx")
        point = point_of(prompt, output, depth, concurrency, is_context)
        points.append((point, is_prompt_test(test)))
    return points


def is_prompt_test(test: re.Match[str]) -> bool:
    """Return whether a test measures prompt processing ('pp', 'ctx_pp') rather than decoding."""
    return test["what"].endswith("pp")


def _settings(test: re.Match[str]) -> tuple[Any, ...]:
    return test["depth"], test["at_once"], test["what"].startswith("ctx")
