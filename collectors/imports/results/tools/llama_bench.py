"""Reads the CSV, JSON, JSON lines and SQL of `llama-bench`: one load per configuration, one point per test.

Its deviations divide by n - 1; with a single repetition it prints 0.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.source import ResultFile, parse_json
from collectors.imports.results.values import count, cut, dict_of, digest, list_of, number, text
from domain import JsonValue
from reasons import Code, Reason

TOOL = "llama-bench"
NEEDED = {"n_prompt", "n_gen", "avg_ts"}
NUMBERS = ("n_prompt", "n_gen", "n_depth", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts")
OF_TEST = {*NUMBERS, "test", "test_time", "samples_ns", "samples_ts"}  # the other columns are the configuration
AFTER_PROMPT = re.compile(r"tg\d{1,9}@pp\d{1,9}")  # label of a test whose prompt is not timed
INTEGER = re.compile(r"-?\d{1,15}")
INSERT = re.compile(r"INSERT INTO \w{1,40} \((?P<names>[^()]{1,8000})\) VALUES \((?P<cells>.{1,60000}?),? *\);?")
MODEL_TYPE = re.compile(r"\S{1,60} (?:\?|[\d.]{1,9})[BMKT]?(?:\.A[\d.]{1,9}[BM])? (?P<quantization>\S.{0,60})")
MESSAGE = re.compile(r"(?:ggml|llama|load|main|build|system|register)[\w: ]")  # of the engine, between the results
FENCE = "```"
MAX_PREAMBLE_LINES = 2_000
MODEL_NAMES = ("model_filename", "model_type", "model_size", "model_n_params")  # the first that differs names the model
MAX_VARIED_CHARS = 60


class BenchTest(NamedTuple):
    """One row: its configuration, what it measured, and the line it stands in."""

    line: int
    config: Mapping[str, JsonValue]
    prompt_tokens: int
    output_tokens: int
    depth_tokens: int | None
    tps: Any
    tps_sd: Any
    duration_ns: Any = None
    duration_sd_ns: Any = None
    started_at: datetime | None = None
    samples_tps: Sequence[Any] = ()


def recognise(head: str) -> bool:
    """Return whether a file has the columns of llama-bench; messages of the engine may stand before them."""
    if "n_gen" not in head or "avg_ts" not in head:
        return False
    return _header_line(head) is not None or "INSERT INTO" in head or ('"n_prompt"' in head and not _is_wrapped(head))


def _is_wrapped(head: str) -> bool:
    """Return whether a script wrote lines of JSON of its own, which quote the rows of llama-bench in an object."""
    first_line = head.lstrip().partition("\n")[0]
    try:
        row = json.loads(first_line) if first_line.startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and not row.keys() >= NEEDED


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a file; raises ImportRefusedError."""
    head = source.head
    rows = _sql_rows if "INSERT INTO" in head else _csv_rows if _header_line(head) is not None else _json_rows
    tests = [_bench_test(source, line, row) for line, row in rows(source)]
    if not tests:
        raise ImportRefusedError(f"{source.name} is of llama-bench, but has no test.")
    return loads_of_tests(tests, ticket)


def loads_of_tests(tests: Sequence[BenchTest], ticket: Ticket, first_number: int = 0) -> list[LoadBuilder]:
    """Return a load for each configuration among the tests, in their order."""
    groups: dict[str, list[BenchTest]] = {}
    for test in tests:
        groups.setdefault(digest(dict(test.config)), []).append(test)
    varied_names = _varied_names([group[0].config for group in groups.values()])
    return [_load_of(group, varied_names, ticket, number) for number, group in enumerate(groups.values(), first_number)]


# --- rows -------------------------------------------------------------------------------------------------------------
def _header_line(head: str) -> int | None:
    """Return the index of the line with the CSV's columns."""
    for index, line in enumerate(head.splitlines()[:MAX_PREAMBLE_LINES]):
        if "{" not in line and "INSERT" not in line and set(_names(line)) >= NEEDED:
            return index
    return None


def _names(line: str) -> list[str]:
    return [name.strip().strip('"') for name in line.split(",")]


def _csv_rows(source: ResultFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    content, first_index = source.text(), _header_line(source.head) or 0
    lines = content.splitlines(keepends=True)
    end = next((i for i in range(first_index, len(lines)) if lines[i].lstrip().startswith(FENCE)), len(lines))
    if end == len(lines) and not content.endswith(("\n", '"')):  # a closed quote ends a cell
        raise source.refusal(content.count("\n") + 1, "it is cut off here")
    lines = lines[:end]
    names = _names(lines[first_index])
    reader = csv.reader(io.StringIO("".join(lines[first_index + 1 :]), newline=""), strict=True)
    try:
        for cells in reader:
            line = first_index + 1 + reader.line_num
            if cells and len(cells) != len(names):
                if len(cells) == 1 and (not cells[0].strip() or MESSAGE.match(cells[0])):
                    continue
                raise source.refusal(line, "this is not a complete line of llama-bench")
            if cells and _names(",".join(cells)) != names:  # two files in sequence have their head twice
                yield line, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise source.refusal(first_index + 1 + reader.line_num, f"this is not CSV ({error})") from error


def _json_rows(source: ResultFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of a list or of lines; lines before the first are messages of the engine."""
    lines = source.text().splitlines(keepends=True)
    first = next((index for index, line in enumerate(lines) if line.lstrip().startswith(("{", "[{", "[ {"))), None)
    opening = next((index for index, line in enumerate(lines) if line.strip() == "["), None)
    if opening is not None and (first is None or opening < first):
        first = opening
    if first is None:
        raise ImportRefusedError(f"{source.name} is of llama-bench, but has no JSON.")
    if lines[first].lstrip().startswith("{") and lines[first].rstrip().endswith("}"):
        for number, line in enumerate(lines[first:], first + 1):
            if line.lstrip().startswith("{"):
                yield number, dict_of(parse_json(line, source.name, number))
        return
    end = "}" if lines[first].lstrip().startswith("{") else "]"
    closing = next((index for index in range(len(lines) - 1, first, -1) if lines[index].strip() == end), len(lines))
    value = parse_json("".join(lines[first : closing + 1]), source.name, first + 1)
    for row in _rows_in(value):
        yield first + 1, dict_of(row)


def _rows_in(value: Any) -> list[Any]:
    """Return the rows of a list, a row alone, or the rows that a script wrapped: {"cmd": [...], "rows": [...]}."""
    if isinstance(value, list):
        return value
    lists = [part for part in dict_of(value).values() if isinstance(part, list)]
    wrapped = [row for rows in lists for row in rows if dict_of(row).keys() >= NEEDED]
    return [value] if dict_of(value).keys() >= NEEDED else wrapped


def _sql_rows(source: ResultFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, statement in source.lines():
        if not statement.lstrip().startswith("INSERT INTO"):
            continue
        match = INSERT.fullmatch(statement.strip())
        names = _names(match["names"]) if match else []
        with source.refusing_bad_csv():
            cells = next(csv.reader([match["cells"]], quotechar="'", skipinitialspace=True)) if match else []
        if not names or len(names) != len(cells):
            raise source.refusal(line, "this is not a complete statement of llama-bench")
        yield line, dict(zip(names, cells, strict=True))


def _bench_test(source: ResultFile, line: int, row: Mapping[str, Any]) -> BenchTest:
    values = {name: _number_of(row.get(name)) for name in NUMBERS}
    prompt_tokens, output_tokens = count(values["n_prompt"]), count(values["n_gen"])
    if prompt_tokens is None or output_tokens is None or "avg_ts" not in row:
        raise source.refusal(line, "this is not a complete test: its tokens or its speed are missing")
    depth = count(values["n_depth"])
    if AFTER_PROMPT.fullmatch(str(row.get("test"))):
        prompt_tokens, depth = 0, prompt_tokens
    config = {name: _setting(name, value) for name, value in row.items() if name not in OF_TEST and value != ""}
    return BenchTest(
        line, config, prompt_tokens, output_tokens, depth, values["avg_ts"], values["stddev_ts"],
        values["avg_ns"], values["stddev_ns"], _time_of(row.get("test_time")), list_of(row.get("samples_ts")),
    )  # fmt: skip


def _number_of(value: Any) -> Any:
    """Return the number of a cell; any other value as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _setting(name: str, value: Any) -> JsonValue:
    is_integer = isinstance(value, str) and name != "build_commit" and INTEGER.fullmatch(value)
    return int(value) if is_integer else cut(value)


def _time_of(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time.astimezone(UTC)


# --- loads ------------------------------------------------------------------------------------------------------------
def _varied_names(configs: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    """Return the settings that differ between the configurations of a file."""
    names = dict.fromkeys(name for config in configs for name in config)
    varied_names = [name for name in names if len({digest(config.get(name)) for config in configs}) > 1]
    model_name = next((name for name in MODEL_NAMES if name in varied_names), None)
    return [name for name in varied_names if model_name is None or name == model_name or name not in MODEL_NAMES]


def _load_of(tests: Sequence[BenchTest], varied_names: Sequence[str], ticket: Ticket, number: int) -> LoadBuilder:
    config = tests[0].config
    times = [test.started_at for test in tests if test.started_at]
    load = LoadBuilder(
        ticket, TOOL, _version_of(config), TOOL, min(times, default=ticket.file_date), number=number,
        params=dict(config), model=text(config.get("model_filename")) or text(config.get("model_type")),
    )  # fmt: skip
    model_type = MODEL_TYPE.fullmatch(text(config.get("model_type"), 200) or "")
    if model_type:
        load.params["quantization"] = load.server_config["quantization"] = model_type["quantization"]
    if text(config.get("type_k")) and config.get("type_k") == config.get("type_v"):
        load.server_config["kv_cache_dtype"] = config["type_k"]
    varied = ", ".join(f"{name} {str(config.get(name, 'not stated'))[:MAX_VARIED_CHARS]}" for name in varied_names)
    names: dict[str, int] = {}
    samples: dict[str, JsonValue] = {}
    for test in tests:
        name = f"{_test_name(test)}{f', {varied}' if varied else ''}"
        names[name] = names.get(name, 0) + 1
        name = name if names[name] == 1 else f"{name} (number {names[name]})"
        _add_test(load, test, name)
        if test.samples_tps:
            samples[name] = cut(list(test.samples_tps))
    load.params |= {"samples_ts": samples} if samples else {}
    return load


def _version_of(config: Mapping[str, JsonValue]) -> str | None:
    build_number = count(config.get("build_number"))
    commit = text(config.get("build_commit"), 60)
    return f"b{build_number}" if build_number else None if commit == "unknown" else commit


def _test_name(test: BenchTest) -> str:
    """Return llama-bench's own name of a test: 'pp512', 'tg128 @ d4096', 'pp512+tg128'."""
    parts = [f"{kind}{tokens}" for kind, tokens in (("pp", test.prompt_tokens), ("tg", test.output_tokens)) if tokens]
    return "+".join(parts) + (f" @ d{test.depth_tokens}" if test.depth_tokens else "")


def _add_test(load: LoadBuilder, test: BenchTest, name: str) -> None:
    point = MeasurementPoint(name, 1, test.prompt_tokens, test.output_tokens, test.depth_tokens)
    if test.prompt_tokens and test.output_tokens:
        metrics, factor = ("total_tps", "duration_s"), 1e-9
    else:
        metrics, factor = ("prompt_tps", "prompt_ms") if test.prompt_tokens else ("decode_tps", "decode_ms"), 1e-6
    n = len(test.samples_tps) or None
    _add_mean(load, point, metrics[0], test.tps, test.tps_sd, n)
    if test.duration_ns is not None:
        _add_mean(load, point, metrics[1], test.duration_ns, test.duration_sd_ns, n, factor)


def _add_mean(
    load: LoadBuilder, point: MeasurementPoint, metric: str, mean: Any, raw_sd: Any, n: int | None, factor: float = 1.0
) -> None:
    """Add a mean and its deviation; a deviation of 0 is that of a single repetition, unless the file has more."""
    sd = number(raw_sd)
    reasons = []
    if sd is not None and (n == 1 or (sd == 0 and n is None)):
        sd, reasons = None, [Reason(Code.SD_OF_ONE_VALUE if n == 1 else Code.SD_COUNT_NOT_TOLD)]
    load.result(
        point, metric, "mean", mean, factor=factor, n=n, sd=None if sd is None else sd * factor, reasons=reasons
    )
