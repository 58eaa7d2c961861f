"""Reads the values of record files, JSON and what Python prints, with the units that stand beside their numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.prose.heads import METRIC_HEAD, UNIT_HEAD
from collectors.imports.results.prose.metric_names import words
from collectors.imports.results.prose.units import unit_of
from collectors.imports.results.prose.value_names import is_number, leaf_words, value_name_of
from collectors.imports.results.source import ResultFile
from python_syntax import evaluate_literal

MAX_DEPTH = 20
MAX_PYTHON_CHARS = 4 << 20
PYTHON_START = re.compile(r"\s{0,99}\[?\s{0,99}\{\s{0,99}'")
_NO_LITERAL = re.compile(r"(?<=[:,\[(\s])(?:nan|-?inf)(?=\s{0,9}[,}\])])")
_NUMPY = re.compile(r"\bnp\.(?:float|int)\d{0,3}\(([-+.\deE]{1,40})\)")
NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,17})?(?:[eE][-+]?\d{1,3})?")
THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3}){1,5}(?:\.\d{1,9})?")
_VERBATIM = words(
    r".*\b(?:version|commit|hash|sha|id|date|timestamp|build|name|label|model)\b.*"
    r"|(?:http )?(?:error|status|code)(?: (?:code|message))?|(?:\w{1,20} )?(?:answer|response|output|completion|text)"
)
_UNITS = words(r"units?")
_UNIT_OF = re.compile(r"(?P<name>\w{1,60})_units?", re.IGNORECASE)
_LABEL = words(rf"name|{METRIC_HEAD.pattern}")
_STATISTIC_HEAD = words(r"stat(?:istic)?s?|aggregat(?:e|ion)|agg|percentile|quantile")
VALUE = "value"
_KINDS = ("type", "event", "kind", "ts", "time", "timestamp", "schema_version")  # of lines, whatever they hold
_DECODER = json.JSONDecoder(parse_constant=str)


def items_of(source: ResultFile) -> list[tuple[int, Any]]:
    """Return the values of a file by their numbers or lines, from 1, and whether they are several.

    Raises ImportRefusedError if they are neither JSON nor what Python prints.
    """
    head = source.head.strip()
    if PYTHON_START.match(head):
        return list(enumerate(_python_values(source), 1))
    if "}" in head.partition("\n")[0] and "\n{" in head:
        return list(source.json_lines())
    try:
        value = source.json()
    except ImportRefusedError:
        values = _values_in_turn(source.text())
        if len(values) < 2:
            raise
        return list(enumerate(values, 1))
    return list(enumerate(value, 1)) if isinstance(value, list) else [(1, value)]


def python_value(text: str) -> Any:
    """Return a dictionary or a list as Python prints it; None for any other text."""
    try:
        return evaluate_literal(_NUMPY.sub(r"\1", _NO_LITERAL.sub("None", text.strip())))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _python_values(source: ResultFile) -> list[Any]:
    text = source.text()
    whole_value = python_value(text) if len(text) <= MAX_PYTHON_CHARS else None
    values = whole_value if isinstance(whole_value, list) else [whole_value]
    if whole_value is None:
        values = [python_value(line) for line in text[:MAX_PYTHON_CHARS].splitlines() if line.strip()]
    if not values or not all(isinstance(value, dict) for value in values):
        raise ImportRefusedError(f"{source.name} is neither JSON nor a list of Python's dictionaries.")
    return values


def _values_in_turn(text: str) -> list[Any]:
    """Return the JSON objects of a text that is nothing but objects one after the other; else nothing."""
    values, at = [], 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        values.append(value)
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
    return values if all(isinstance(value, dict) for value in values) else []


def is_header(item: Any, following: Any) -> bool:
    """Return whether an object before others states what holds for all of them: it shares no name with the next."""
    is_object = isinstance(item, dict) and isinstance(following, dict)
    return is_object and not (set(item) & set(following)) - {*_KINDS}


def settings_of_header(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a header states, without what kind of line it is."""
    return {name: value for name, value in item.items() if name not in _KINDS}


# --- units beside numbers ---------------------------------------------------------------------------------------------
def with_units_beside(value: Any, units: Mapping[str, str] = MappingProxyType({}), depth: int = 1) -> Any:
    """Return a value whose names state the units that stand beside them, with numbers for texts that are numbers.

    {"ttft": {"value": 81.5, "unit": "ms"}}, {"ttft": 81.5, "ttft_unit": "ms"} and {"ttft": 81.5} below an object
    "units" are all {"ttft_ms": 81.5}; a list of metrics is an object of them.
    """
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, list):
        rows = [with_units_beside(item, units, depth + 1) for item in value]
        return pivoted(rows) if rows and all(isinstance(row, dict) for row in rows) else rows
    if not isinstance(value, dict):
        return value
    known_units = {**units, **_units_in(value)}
    return dict(_named_item(name, item, known_units, depth) for name, item in value.items())


def _named_item(name: str, item: Any, units: Mapping[str, str], depth: int) -> tuple[str, Any]:
    unit = units.get(name)
    if isinstance(item, dict) and (own_unit := _unit_of_object(item)):
        numbers = {key: number_of(key, number) for key, number in item.items() if not UNIT_HEAD.fullmatch(key)}
        unit, item = own_unit, numbers[VALUE] if list(numbers) == [VALUE] else numbers
    if isinstance(item, dict | list):
        item = with_units_beside(item, units, depth + 1)
    return _with_unit(name, unit), number_of(name, item)


def _units_in(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the units that an object states for others of its names, or for those of the objects below it."""
    listed = next((item for name, item in value.items() if _UNITS.fullmatch(name) and isinstance(item, dict)), {})
    units = {name: item for name, item in listed.items() if isinstance(item, str)}
    for name, item in value.items():
        if isinstance(item, str) and (match := _UNIT_OF.fullmatch(name)):
            units[match["name"]] = item
    return units


def _unit_of_object(item: Mapping[str, Any]) -> str | None:
    """Return the unit of an object that holds numbers and their unit alone."""
    unit = next((text for name, text in item.items() if UNIT_HEAD.fullmatch(name) and isinstance(text, str)), None)
    numbers = [number_of(name, number) for name, number in item.items() if not UNIT_HEAD.fullmatch(name)]
    is_of_numbers = bool(numbers) and all(number is None or is_number(number) for number in numbers)
    return unit if unit and is_of_numbers else None


def _with_unit(name: str, unit: str | None) -> str:
    is_open = unit is not None and unit_of(unit)[0] is not None and value_name_of(name).unit is None
    return f"{name}_{unit}" if is_open else name


def number_of(name: str, item: Any) -> Any:
    """Return a text that is nothing but a number as that number, unless its name is one of texts."""
    if not isinstance(item, str) or _VERBATIM.fullmatch(leaf_words(name)):
        return item
    digits = item.strip()
    if THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    if not NUMBER.fullmatch(digits):
        return item
    number = int(digits) if digits.lstrip("-").isdigit() else float(digits)
    column = value_name_of(name)  # '12.10' may be a version
    is_measured = column.unit is not None or column.metric_name is not None
    return number if is_measured or str(number) == digits else item


def pivoted(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of single numbers, each with the name of its metric, as one row for all that belong together."""
    names = [_names_of_long_row(row) for row in rows]
    if not all(names) or not _are_metrics(rows, names):
        return list(rows)
    groups: dict[str, list[dict[str, Any]]] = {}
    for row, (label_name, *other_names) in zip(rows, names, strict=True):
        around = {name: item for name, item in row.items() if name not in (label_name, *other_names)}
        alike = groups.setdefault(json.dumps(around, default=str), [])
        metric = _metric_of_row(row, label_name)
        if not alike or metric in alike[-1]:
            alike.append({**around})
        alike[-1][metric] = row[VALUE]
    return [row for alike in groups.values() for row in alike]


def _names_of_long_row(row: Mapping[str, Any]) -> list[str]:
    """Return the names under which a row of a single number states its metric, its statistic, unit and value."""
    labels = [name for name, item in row.items() if _LABEL.fullmatch(name) and isinstance(item, str)]
    labels.sort(key=lambda name: (METRIC_HEAD.fullmatch(name) is None, _STATISTIC_HEAD.fullmatch(name) is not None))
    if not labels or not (row.get(VALUE) is None or is_number(row[VALUE])) or VALUE not in row:
        return []
    other_names = (
        name for name in row if UNIT_HEAD.fullmatch(name) or _STATISTIC_HEAD.fullmatch(name) or name == VALUE
    )
    return list(dict.fromkeys([labels[0], *other_names]))


def _metric_of_row(row: Mapping[str, Any], label_name: str) -> str:
    """Return the name of a row's number: 'ttft_p99_ms'."""
    parts = [row[label_name], *(row[name] for name in row if _STATISTIC_HEAD.fullmatch(name) and name != label_name)]
    name = "_".join(str(part) for part in parts if part).replace(" ", "_")
    return _with_unit(name, next((item for key, item in row.items() if UNIT_HEAD.fullmatch(key) and item), None))


def _are_metrics(rows: Iterable[Mapping[str, Any]], names: Iterable[Sequence[str]]) -> bool:
    """Return whether the rows name metrics of which one states its unit, and no row has other numbers."""
    columns = [value_name_of(_metric_of_row(row, row_names[0])) for row, row_names in zip(rows, names, strict=True)]
    return any(column.unit is not None and column.metric_name is not None for column in columns)
