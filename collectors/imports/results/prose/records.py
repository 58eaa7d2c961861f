"""Reads JSON and CSV that scripts write of their own measurements, as far as the names state metric and unit.

`ttft_p50_s` is a time to the first token in seconds, `decode_tok_s` a speed; a value without a unit is a parameter, or
names its point where it varies.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.heads import CONCURRENCY_HEAD, OUTPUT_HEAD, PROMPT_HEAD
from collectors.imports.results.prose.metric_names import DERIVED, MetricName, metric_of, statistic_of
from collectors.imports.results.prose.number_text import MEMORY, has_no_value, states_failure
from collectors.imports.results.prose.units import named_unit
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, cut, text

TOOL = "records"
KEY = re.compile(r'"([A-Za-z][\w .%/()-]{1,60})"\s{0,9}:')
CSV_NAME = re.compile(r"[A-Za-z#%][\w .#%/()@-]{0,60}")
WORD_BOUND = re.compile(r"[_\s.:-]+|(?<=[a-z\d])(?=[A-Z])")
WARM_UP = re.compile(r"warm[-_ ]?up", re.IGNORECASE)
INNER_STATISTIC = re.compile(r"mean|avg|median|min|max|p\d{2}")
LEVEL_WORD = re.compile(r"np|n parallel|c")  # beside the heads of tables
MODELS = ("model", "model id", "model name", "model path", "model tag", "base model")
OF_MACHINE = re.compile(r"\b(?:system|host|total|installed|machine|hardware|specs?)\b.*\b(?:ram|memory|vram)\b|^ram$")
TIMES = ("ts", "timestamp", "date", "datetime", "started at")
ERRORS = ("error", "error message")
MAX_DEPTH = 6
MAX_NAME_CHARS = 200
LEAST_METRICS = 2


class ValueName(NamedTuple):
    """What a name states: its words without the unit, the unit, and the metric, None if Pitwall has none."""

    words: str
    unit: str | None
    metric_name: MetricName | None


def value_name_of(name: str) -> ValueName:
    """Return what the name of a value states: 'itl_p99_ms' is `itl_ms` in milliseconds."""
    words = " ".join(word for word in WORD_BOUND.split(name) if word).lower()
    if named := named_unit(words):
        unit, remaining_words = named
        return ValueName(remaining_words, unit, metric_of(remaining_words, unit))
    return ValueName(words, None, metric_of(words, None))


def recognise(head: str) -> bool:
    """Return whether JSON or CSV begins so and names two metrics with their units."""
    start = head.lstrip()[:1]
    names = set(KEY.findall(head)) if start in ("{", "[") else set(_csv_names(head))
    columns = [column for name in names if (column := value_name_of(name)).unit is not None]
    has_inner_statistic = any(INNER_STATISTIC.fullmatch(column.words) for column in columns)  # {"ttft": {"p99_ms": 81}}
    metrics = [column for column in columns if column.metric_name is not None or column.unit == "tok/s"]
    return len(metrics) + has_inner_statistic >= LEAST_METRICS


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of such a file; raises ImportRefusedError if it has no result."""
    common, records = _records_of(source)
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    warm_ups = [record for _, record in records if _is_warm_up(record)]
    if warm_ups:
        records = [(number, record) for number, record in records if not _is_warm_up(record)]
        load.notes.append(f"The warm-up was left out: {len(warm_ups)} of its records.")
    failures = [record for _, record in records if _is_failed(record)]
    if failures:
        records = [(number, record) for number, record in records if not _is_failed(record)]
        load.notes.append(f"Failed requests were left out: {len(failures)} of its records.")
    constants = _constants([record for _, record in records])
    load.params |= {name: cut(value) for name, value in {**common, **constants}.items()}
    load.model = _model_of({**common, **constants})
    times = [time for _, record in records if (time := _time_of(record))]
    load.ts = min(times, default=load.ts)
    for number, record in records:
        _add_record(load, number, record, {**common, **constants})
    if not load.result_rows:
        raise ImportRefusedError(f"{source.name} has no value whose name states its metric and unit.")
    return [load]


# --- records ----------------------------------------------------------------------------------------------------------
def _records_of(source: ResultFile) -> tuple[dict[str, Any], list[tuple[int, dict[str, Any]]]]:
    """Return the values that hold for all records, and the records with their numbers or lines."""
    if source.head.lstrip()[:1] not in ("{", "["):
        return {}, list(_csv_records(source))
    if "}" in source.head.strip().partition("\n")[0] and "\n{" in source.head.strip():
        return {}, [(number, _flat(value)) for number, value in source.json_lines()]
    value = source.json()
    if isinstance(value, list):
        return {}, [(number, _flat(item)) for number, item in enumerate(value, 1)]
    lists = {name: items for name, items in value.items() if _is_records(items)}
    if not lists:
        return {}, [(1, _flat(value))]
    common = _flat({name: item for name, item in value.items() if name not in lists})
    names = [({"list": name} if len(lists) > 1 else {}, item) for name, items in lists.items() for item in items]
    return common, [(number, list_name | _flat(item)) for number, (list_name, item) in enumerate(names, 1)]


def _is_records(items: Any) -> bool:
    return isinstance(items, list) and bool(items) and all(isinstance(item, dict) for item in items)


def _flat(value: Any, prefix: str = "", depth: int = 1) -> dict[str, Any]:
    """Return the values of an object by their names; those of an inner object bear its name before their own."""
    if not isinstance(value, dict):
        return {prefix or "value": value}
    values: dict[str, Any] = {}
    for name, item in value.items():
        full_name = f"{prefix} {name}".strip()
        values |= (
            _flat(item, full_name, depth + 1) if isinstance(item, dict) and depth < MAX_DEPTH else {full_name: item}
        )
    return values


def _csv_names(head: str) -> list[str]:
    first_line, _, other_lines = head.lstrip().partition("\n")
    names = [name.strip().strip('"') for name in first_line.split(",")]
    is_head = len(names) > 2 and all(CSV_NAME.fullmatch(name) for name in names)
    first_row = next(csv.reader([other_lines.partition("\n")[0]]), []) if is_head else []
    cells = [cell for name, cell in zip(names, first_row, strict=False) if value_name_of(name).unit is not None]
    has_words = any(isinstance(_cell(cell), str) and not (has_no_value(cell) or states_failure(cell)) for cell in cells)
    return names if is_head and len(first_row) >= len(names) and not has_words else []


def _csv_records(source: ResultFile) -> Iterator[tuple[int, dict[str, Any]]]:
    with source.refusing_bad_csv():
        for number, row in enumerate(csv.DictReader(source.text().splitlines()), 2):
            yield number, {name.strip(): _cell(cell) for name, cell in row.items() if name and isinstance(cell, str)}


def _cell(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell.strip() or None


# --- values -----------------------------------------------------------------------------------------------------------
def _is_warm_up(record: Mapping[str, Any]) -> bool:
    return any(isinstance(value, str) and WARM_UP.fullmatch(value) for value in record.values())


def _is_failed(record: Mapping[str, Any]) -> bool:
    """Return whether a record is that of a request that failed, whose times are those of the failure."""
    values = {value_name_of(name).words: value for name, value in record.items()}
    is_denied = any(values.get(name) is False for name in ("ok", "success", "succeeded"))
    return is_denied or any(isinstance(values.get(name), str) and values[name].strip() for name in ERRORS)


def _model_of(values: Mapping[str, Any]) -> str | None:
    """Return the model that a name such as 'model', 'modelID' or 'model_path' states."""
    return next(
        (name for key, value in values.items() if value_name_of(key).words in MODELS and (name := text(value))), None
    )


def _time_of(record: Mapping[str, Any]) -> datetime | None:
    """Return when a record was measured, where it states the zone."""
    written = next((value for name, value in record.items() if value_name_of(name).words in TIMES), None)
    try:
        time = datetime.fromisoformat(written) if isinstance(written, str) else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None


def _is_result(column: ValueName, value: Any) -> bool:
    is_of_machine = column.unit in MEMORY and OF_MACHINE.search(column.words) is not None
    has_metric = (column.unit is not None or column.metric_name is not None) and not is_of_machine
    return has_metric and (value is None or (isinstance(value, int | float) and not isinstance(value, bool)))


def _constants(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values other than results that all records share; all those of a single record."""
    first = records[0] if records else {}
    return {
        name: value for name, value in first.items()
        if not _is_result(value_name_of(name), value) and value is not None
        and all(record.get(name) == value for record in records)
    }  # fmt: skip


def _add_record(load: LoadBuilder, number: int, record: Mapping[str, Any], constants: Mapping[str, Any]) -> None:
    columns = {name: value_name_of(name) for name in record}
    names = [
        f"{name}={value if not isinstance(value, float) else f'{value:g}'}"[:60]
        for name, value in record.items()
        if name not in constants and value is not None and not _is_result(columns[name], value)
        and columns[name].words not in TIMES
    ]  # fmt: skip
    level, prompt_tokens, output_tokens = (
        _level({**record, **constants}, pattern) for pattern in (CONCURRENCY_HEAD, PROMPT_HEAD, OUTPUT_HEAD)
    )
    point_name = ", ".join(names)[:MAX_NAME_CHARS] or "all requests"
    for name, value in record.items():
        column = columns[name]
        if not _is_result(column, value) or DERIVED.search(column.words):
            continue
        metric_name = column.metric_name or MetricName(STATED)
        point = MeasurementPoint(f"{point_name}: {name} (record {number})", level, prompt_tokens, output_tokens)
        load.result(
            point, metric_name.metric, statistic_of(column.words, None, metric_name.metric),
            value if value is None else round(value * metric_name.factor, 9),
            unit=column.unit if metric_name.metric == STATED else None,
        )  # fmt: skip


def _level(record: Mapping[str, Any], pattern: re.Pattern[str]) -> int | None:
    """Return the level or length that a record states, or all records together."""
    is_level = pattern is CONCURRENCY_HEAD
    names = [
        name for name in record
        if (words := value_name_of(name).words)
        and (pattern.fullmatch(words) or (is_level and LEVEL_WORD.fullmatch(words)))
    ]  # fmt: skip
    return next((value for name in names if (value := count(record[name])) is not None), None)
