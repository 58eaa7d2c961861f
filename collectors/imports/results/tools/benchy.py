"""llama-benchy's results: JSON and CSV as it saves them. Its deviations divide by n."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Point, Ticket
from collectors.imports.results.source import Source
from collectors.imports.results.values import count, dict_of, list_of, text
from reasons import Code, Reason

TOOL = "llama-benchy"
NAMES: Mapping[str, str] = {  # in the JSON -> ours
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
OF_GENERATION = {"output_tps", "decode_tps", "peak_output_tps", "peak_decode_tps"}
COLUMNS = {"t_s": 0, "t_s_req": 1, "peak_ts": 2, "peak_ts_req": 3, "ttfr": 4, "est_ppt": 5, "e2e_ttft": 6}  # of the CSV
OF_PROMPTS = ("prompt_tps", "prompt_tps_per_request", None, None, "ttfr_ms", "prompt_ms", "ttft_ms")
OF_TOKENS = ("output_tps", "decode_tps", "peak_output_tps", "peak_decode_tps", None, None, None)
TEST = re.compile(
    r"(?P<what>ctx_pp|ctx_tg|pp|tg)(?P<tokens>\d{1,9})?(?: @ d(?P<depth>\d{1,9}))?(?: \(c(?P<at_once>\d{1,6})\))?"
)


def counts_chunks(version: str | None) -> Reason | None:
    """Why its speeds may be of chunks; None of a version that counts tokens."""
    if version is None:
        return Reason(Code.MAY_COUNT_CHUNKS)
    found = re.match(r"(\d+)\.(\d+)", version)
    is_old = found is None or (int(found[1]), int(found[2])) < (0, 4)
    return Reason(Code.COUNTS_CHUNKS) if is_old else None


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    is_json = head.lstrip().startswith("{") and '"benchmarks"' in head and '"pp_throughput"' in head
    return is_json or head.startswith("model,test_name,t_s_mean,t_s_std")


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The load of a file; raises ImportRefusedError."""
    if source.head.lstrip().startswith("{"):
        return [_read_json(source, ticket)]
    return [_read_csv(source, ticket)]


# --- JSON -------------------------------------------------------------------------------------------------------------
def _read_json(source: Source, ticket: Ticket) -> LoadBuilder:
    report = dict_of(source.json())
    grid = [dict_of(one) for one in list_of(report.get("benchmarks"))]
    if not grid:
        raise ImportRefusedError(f"{source.name} holds no benchmark.")
    asked = {name: report.get(name) for name in ("latency_mode", "prefix_caching_enabled", "max_concurrency")}
    load = LoadBuilder(
        ticket, TOOL, text(report.get("version")), TOOL, _stamp(report.get("timestamp")) or ticket.dated,
        params=asked, model=text(report.get("model")),
    )  # fmt: skip
    runs = max(len(_values(one, "pp_throughput")) for one in grid)
    for one in grid:
        _add_benchmark(load, one, runs)
    return load


def _stamp(value: Any) -> datetime | None:
    try:
        return datetime.strptime(str(value), "%Y-%m-%d %H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _values(benchmark: Mapping[str, Any], name: str) -> list[Any]:
    return list(list_of(dict_of(benchmark.get(name)).get("values")))


def _add_benchmark(load: LoadBuilder, one: Mapping[str, Any], runs: int) -> None:
    at_once = count(one.get("concurrency")) or 1
    point = point_of(
        count(one.get("prompt_size")), count(one.get("response_size")), count(one.get("context_size")) or 0, at_once,
        is_context=one.get("is_context_prefill_phase") is True,
    )  # fmt: skip
    for name, metric in NAMES.items():
        statistics, values = dict_of(one.get(name)), _values(one, name)
        if statistics:
            wanted = runs * at_once if name in PER_REQUEST else runs
            missing = Reason(Code.VALUES_MISSING, values={"present": len(values), "wanted": wanted})
            why = [missing] if 0 < len(values) < wanted else []
            why += [chunks] if metric in OF_GENERATION and (chunks := counts_chunks(load.tool_version)) else []
            add(load, point, metric, statistics.get("mean"), statistics.get("std"), len(values) or None, why)


def point_of(prompt: int | None, output: int | None, depth: int, at_once: int, is_context: bool = False) -> Point:
    """One point of its grid: 'pp2048 tg128 d0 c1'; filling the context is a point of its own."""
    head = "ctx" if is_context else " ".join(
        word for word in (prompt is not None and f"pp{prompt}", output is not None and f"tg{output}") if word
    )  # fmt: skip
    return Point(f"{head} d{depth} c{at_once}", at_once, prompt, output, depth)


def add(
    load: LoadBuilder, point: Point, metric: str, mean: Any, spread: Any, n: int | None, why: Iterable[Reason] = ()
) -> None:
    """Add a mean with its deviation."""
    load.result(point, metric, "mean", mean, n=n, population_sd=spread, reasons=why)


# --- CSV --------------------------------------------------------------------------------------------------------------
def _read_csv(source: Source, ticket: Ticket) -> LoadBuilder:
    whole = source.text()
    rows = list(csv.DictReader(io.StringIO(whole, newline="")))
    if not rows:
        raise ImportRefusedError(f"{source.name} holds no benchmark.")
    if not whole.endswith("\n"):
        raise source.refusal(len(rows) + 1, "it is cut off here")
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.dated, model=text(rows[0].get("model")))
    tests = [_test_of(source, number, row) for number, row in enumerate(rows, 2)]
    for row, (point, is_prompt) in zip(rows, points_of(tests), strict=True):
        for column, place in COLUMNS.items():
            metric = (OF_PROMPTS if is_prompt else OF_TOKENS)[place]
            if metric and row.get(f"{column}_mean"):
                why = [Reason(Code.MAY_COUNT_CHUNKS)] if metric in OF_GENERATION else []
                add(load, point, metric, _float(row[f"{column}_mean"]), _float(row.get(f"{column}_std")), None, why)
    return load


def _float(cell: Any) -> Any:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell


def _test_of(source: Source, line: int, row: Mapping[str, Any]) -> re.Match[str]:
    found = TEST.fullmatch(row.get("test_name") or "")
    if found is None or None in row or None in row.values():
        raise source.refusal(line, "this is no whole line of llama-benchy's")
    return found


# --- rows of CSV and Markdown -----------------------------------------------------------------------------------------
def points_of(tests: Iterable[re.Match[str]]) -> list[tuple[Point, bool]]:
    """The point of each row, and whether it is of its prompt; a row of a prompt belongs to the row of tokens below."""
    rows, found = list(tests), []
    for place, test in enumerate(rows):
        other = rows[place + (1 if is_of_prompt(test) else -1) :][:1] if place or is_of_prompt(test) else []
        pair = [one for one in other if _tail(one) == _tail(test) and is_of_prompt(one) != is_of_prompt(test)]
        sizes = {is_of_prompt(one): one["tokens"] for one in (*pair, test)}
        prompt, output = (int(size) if (size := sizes.get(which)) else None for which in (True, False))
        depth, at_once = int(test["depth"] or 0), int(test["at_once"] or 1)
        is_context = test["what"].startswith("ctx")
        point = point_of(prompt, output, depth, at_once, is_context)
        found.append((point, is_of_prompt(test)))
    return found


def is_of_prompt(test: re.Match[str]) -> bool:
    """Whether a test measures prompt processing ('pp', 'ctx_pp') and no decoding."""
    return test["what"].endswith("pp")


def _tail(test: re.Match[str]) -> tuple[Any, ...]:
    return test["depth"], test["at_once"], test["what"].startswith("ctx")
