"""Finds the records of JSON and CSV files: objects with measurements, wherever they stand."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.prose.heads import DERIVED_HEAD, METRIC_HEAD, UNIT_HEAD
from collectors.imports.results.prose.metric_names import DERIVED
from collectors.imports.results.prose.number_text import MEMORY, TIMED, has_no_value, read_cell, states_failure
from collectors.imports.results.prose.record_values import (
    VALUE,
    is_header,
    items_of,
    pivoted,
    settings_of_header,
    with_units_beside,
)
from collectors.imports.results.prose.separated_values import NAME, SeparatedValues, values_of
from collectors.imports.results.prose.value_names import (
    around_of,
    is_number,
    leaf_words,
    names_figure,
    names_settings,
    names_summary,
    value_name_of,
)
from collectors.imports.results.source import ResultFile, ResultPassage

STATISTIC = re.compile(
    r"value|mean|avg|average|med(?:ian)?|min(?:imum)?|max(?:imum)?|std(?:ev|dev)?|p\d{2}|percentile[_ ]?\d{2}|\d{2}th",
    re.IGNORECASE,
)
_STATISTIC_IN_LIST = r"(?:mean|avg|median|min|max|p\d\d)"
LISTED_STATISTICS = re.compile(
    r"(?P<name>[A-Za-z][\w .]{0,60}?)[ _]?[(\[]?"
    rf"(?P<statistics>{_STATISTIC_IN_LIST}(?:/{_STATISTIC_IN_LIST}){{1,5}})[)\]]?",
    re.IGNORECASE,
)
_USED = re.compile(r"\b(?:peak|used|max)[ _-]?(?:\w{1,10}[ _-])?(?:v?ram|mem(?:ory)?)\b", re.IGNORECASE)
JSON_START = re.compile(r"\s{0,999}(?:\{|\[\s{0,99}(?:[\[{\"'\]]|-?\d[\d.]{0,20}\s{0,9}[,\]]))")  # no '[12:30:01]'
MAX_DEPTH = 6
MOST_ROWS_SEEN = 200  # of a file, to recognise it
PREDICTED_TOKENS = re.compile(r"(?:.{0,60} )?predicted_n")  # of llama-server, beside its timings
PREDICTED = re.compile(r"(?<![^ ])predicted_(?=(?:ms|tps|tok_s|tokens_per_second)$)")
SPEED_OF_ROW, LENGTHS_OF_ROW, NAMED_SPEED = "avg_ts", ("n_prompt", "n_gen"), "tokens_per_second_mean"
LIST, GROUP, COLUMN = "list", "group", "column"  # names of what tells the records of several lists and objects apart


class Record(NamedTuple):
    """An object with measurements; `number`: its own, or its line, from 1; `settings`: of the objects around it.

    `is_summary`: other records stand below it. `objects`: the names of its inner objects.
    """

    number: int
    values: dict[str, Any]
    settings: Mapping[str, Any] = MappingProxyType({})
    is_summary: bool = False
    objects: frozenset[str] = frozenset()

    def stated(self, name: str) -> Any:
        """Return a value of its own, or else one of the objects around it."""
        return self.values[name] if name in self.values else self.settings.get(name)


_SIDES = (
    re.compile(r"(?:input|prompt) tokens"),
    re.compile(r"(?:output|completion|generated) tokens"),
)


class _Parts(NamedTuple):
    """The values of an object by their full names, and the lists of objects and the alike objects within it."""

    values: dict[str, Any]
    lists: dict[str, list[dict[str, Any]]]
    groups: dict[str, dict[str, Any]]
    objects: set[str]


def records_of(source: ResultFile) -> list[Record]:
    """Return the records of a file."""
    if not JSON_START.match(source.head):
        return list(_csv_records(source))
    items = items_of(source)
    values = with_units_beside([value for _, value in items])
    is_pivoted = len(values) != len(items)
    numbers = range(1, len(values) + 1) if is_pivoted else [number for number, _ in items]
    if len(values) == 1:
        records = _records_in(1, values[0], {})
        return [record._replace(number=number) for number, record in enumerate(records, 1)]
    header: dict[str, Any] = {}
    if len(values) > 1 and is_header(values[0], values[1]):
        records = _records_in(1, values[0], {})
        if not any(has_result(record.values) for record in records):
            header = settings_of_header({name: item for record in records for name, item in record.values.items()})
            values, numbers = values[1:], numbers[1:]
    return [
        record for number, value in zip(numbers, values, strict=True)
        for record in _records_in(number, value, {**header})
    ]  # fmt: skip


def names_in_json(head: str) -> list[str]:
    """Return the names of the values in records that begin so; empty if they go on behind the head."""
    try:
        records = records_of(ResultPassage(Path(), "", content=head.encode()))
    except ImportRefusedError:
        return []
    return [name for record in records for name in record.values]


def has_result(values: Mapping[str, Any]) -> bool:
    """Return whether one of the values is a measurement."""
    return any(value is not None and value_name_of(name).is_of_result(value) for name, value in values.items())


def _has_more_than_duration(values: Mapping[str, Any]) -> bool:
    """Return whether one of the values is a measurement other than how long it took, as the calls of a tool state.

    The time of an answer counts beside the tokens of both its sides.
    """
    if has_result(values) and all(any(map(side.fullmatch, map(leaf_words, values))) for side in _SIDES):
        return True
    columns = (value_name_of(name) for name, value in values.items() if value is not None and has_result({name: value}))
    return any(column.metric_name is None or column.metric_name.metric != "duration_s" for column in columns)


def _records_in(number: int, value: Any, inherited: MutableMapping[str, Any], depth: int = 1) -> list[Record]:
    """Return the records of a value; `inherited`: settings of the objects around it."""
    parts = _parts_of(value)
    named_values = _with_names_of_llama_bench(_with_metric_of_cell(_with_statistics_apart(parts.values)))
    parts = parts._replace(values=_with_names_of_decoding(named_values))
    settings = {
        name: item for name, item in parts.values.items()
        if item is not None and not value_name_of(name).is_of_result(item)
        and not is_of_part(name, parts.values, parts.objects)
    }  # fmt: skip
    nested = [
        *((LIST, name, items) for name, items in parts.lists.items() if not any(map(names_settings, name.split(" ")))),
        *((GROUP, name, [item]) for name, item in parts.groups.items()),
    ]
    below: list[Record] = []
    for kind, name, items in nested if depth < MAX_DEPTH else ():
        is_told = kind == GROUP or len(parts.lists) > 1
        path = f"{inherited.get(kind, '')} {name}".strip()
        around: ChainMap[str, Any] = ChainMap({kind: path} if is_told else {}, settings, inherited)
        records = [record for item in items for record in _records_in(number, item, around, depth + 1)]
        if any(_has_more_than_duration(record.values) for record in records):
            below += records
        else:
            parts.values[name] = settings[name] = items
    is_summary = bool(below)
    own_records = (
        [Record(number, parts.values, inherited, is_summary, frozenset(parts.objects))]
        if not is_summary or has_result(parts.values)
        else []
    )
    return [*own_records, *below]


def is_of_part(name: str, values: Mapping[str, Any], objects: Collection[str]) -> bool:
    """Return whether a value stands beside metrics in one of several inner objects, so that it is theirs alone."""
    around = around_of(name)
    if around not in objects or names_summary(around.rpartition(" ")[2]):
        return False
    metrics = [
        other for other, item in values.items()
        if (column := value_name_of(other)).metric_name is not None and item is not None and column.is_of_result(item)
    ]  # fmt: skip
    return len({other.startswith(f"{around} ") for other in metrics}) > 1


def _parts_of(value: Any, prefix: str = "", depth: int = 1) -> _Parts:
    """Return the parts of an object; the values of an inner object bear its name before their own."""
    if not isinstance(value, dict):
        return _Parts({prefix or "value": value}, {}, {}, set())
    parts = _Parts({}, {}, {}, set())
    groups = _alike_objects(value)
    for name, item in value.items():
        full_name = f"{prefix} {name}".strip()
        if name in groups:
            parts.groups[full_name] = item
        elif _is_list_of_objects(item):
            parts.lists[full_name] = item
        elif isinstance(item, dict) and depth < MAX_DEPTH:
            inner = _parts_of(item, full_name, depth + 1)
            parts.values.update(inner.values)
            parts.lists.update(inner.lists)
            parts.groups.update(inner.groups)
            parts.objects.update((full_name, *inner.objects))
        else:
            stated_name, figure = _csv_value(full_name, item) if isinstance(item, str) else (full_name, item)
            is_figure = is_number(figure) and (names_figure(full_name) or _states_figure(stated_name))
            parts.values.update({stated_name: figure} if is_figure else {full_name: item})
    return parts


def _states_figure(name: str) -> bool:
    """Return whether a name with the unit of its text is that of a measurement: 'output tok/s', 'peak memory GB'."""
    column = value_name_of(name)
    return column.metric_name is not None or column.unit == "tok/s" or _USED.search(name) is not None


def _with_metric_of_cell(values: dict[str, Any]) -> dict[str, Any]:
    """Return values whose names are statistics under the metric that another value names: {"metric": "tpot_ms"}."""
    texts = {name: item for name, item in values.items() if isinstance(item, str)}
    unit = next((item for name, item in texts.items() if UNIT_HEAD.fullmatch(name)), "")
    metric_labels = [f"{item} {unit}".strip() for name, item in texts.items() if METRIC_HEAD.fullmatch(name)][:1]
    other_labels = [f"{item} {unit}" for item in texts.values() if item != unit] if unit and not metric_labels else []
    labels = [*metric_labels, *(other for other in other_labels if value_name_of(other).metric_name is not None)]
    label = next((label for label in labels if value_name_of(label).is_of_result(None)), None)
    if label is None:
        return values
    return {
        f"{label} {name}".removesuffix(" value") if STATISTIC.fullmatch(name) else name: item
        for name, item in values.items()
    }


def _with_statistics_apart(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with a name for each number of one that lists statistics: {"ttft_ms(p50/p99)": "81/120"}."""
    stated: dict[str, Any] = {}
    for name, item in values.items():
        match = LISTED_STATISTICS.fullmatch(name) if "/" in name and isinstance(item, str) else None
        numbers = [_cell(number) for number in item.split("/")] if match else []
        statistics = match["statistics"].split("/") if match else []
        is_listed = len(numbers) == len(statistics) > 1 and all(map(is_number, numbers))
        names = [f"{match['name']}_{statistic}" for statistic in statistics] if match and is_listed else [name]
        stated |= dict(zip(names, numbers if is_listed else [item], strict=True))
    return stated


def _with_names_of_decoding(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with other names for those that llama-server calls 'predicted', which are no forecasts."""
    if not any(PREDICTED_TOKENS.fullmatch(name) for name in values):
        return values
    return {PREDICTED.sub("decode_time_" if name.endswith("ms") else "decode_", name): values[name] for name in values}


def _with_names_of_llama_bench(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with the unit of the speed that llama-bench calls 'avg_ts', where no other name states a speed."""
    names = {name: name.removesuffix(SPEED_OF_ROW) for name in values if name.endswith(SPEED_OF_ROW)}
    of_rows = {
        name for name, around in names.items() if all(f"{around}{length}" in values for length in LENGTHS_OF_ROW)
    }
    if not of_rows or any(value_name_of(name).unit == "tok/s" for name in values):
        return values
    return {f"{names[name]}{NAMED_SPEED}" if name in of_rows else name: values[name] for name in values}


def _is_list_of_objects(items: Any) -> bool:
    return isinstance(items, list) and bool(items) and all(isinstance(item, dict) for item in items)


def _alike_objects(value: Mapping[str, Any]) -> set[str]:
    """Return the names of objects that hold the same measurements of several arms: {"off": {...}, "on": {...}}.

    Objects whose names state the metric, {"ttft": {"p50_ms": 81}}, are none.
    """
    names = {
        name: set(_metrics_in(item))
        for name, item in value.items()
        if isinstance(item, dict) and not names_settings(name) and not STATISTIC.fullmatch(name)
    }
    names = {name: metrics for name, metrics in names.items() if metrics}
    return set(names) if len(names) > 1 and set.intersection(*names.values()) else set()


def _metrics_in(item: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[str]:
    """Yield the names of an object's measurements that state their metric themselves."""
    for name, value in item.items():
        full_name = f"{prefix} {name}".strip()
        if isinstance(value, dict):
            yield from _metrics_in(value, full_name, depth + 1) if depth < MAX_DEPTH else ()
        elif (
            (column := value_name_of(full_name)).metric_name is not None
            and column.is_of_result(value)
            and is_number(value)
        ):
            yield full_name


def csv_names(head: str) -> list[str]:
    """Return the columns of CSV that begins so, or its rows if each is a metric.

    Nothing for another text, or if words stand below units.
    """
    table = values_of(head)
    if table is None or not table.rows:
        return []
    names, first_row = table.heads, table.rows[0]
    if _has_metrics_as_rows(table):
        rows = [row for row in table.rows if len(row) > 1 and NAME.fullmatch(row[0])]
        return [_metric_label(names, row) for row in rows]
    first_values = _with_statistics_apart({name: _cell(cell) for name, cell in zip(names, first_row, strict=False)})
    cells = [cell for name, cell in first_values.items() if value_name_of(name).unit in TIMED]
    has_words = any(isinstance(cell, str) and not (has_no_value(cell) or states_failure(cell)) for cell in cells)
    has_row = len(first_row) == 2 and bool(cells) if len(names) == 2 else len(first_row) >= len(names)
    if not has_row or has_words:
        return []
    seen_rows = [
        {name: _cell(cell) for name, cell in zip(names, row, strict=False)} for row in table.rows[:MOST_ROWS_SEEN]
    ]
    wide_rows = map(_with_metric_of_cell, pivoted(seen_rows))
    return list(dict.fromkeys([*names, *(name for row in wide_rows for name in row)]))


def _has_metrics_as_rows(table: SeparatedValues) -> bool:
    """Return whether each row is a metric and each column an arm; beside one of values, names are no arms."""
    is_long = VALUE in table.heads and any(_is_of_words(table, column) for column in range(1, len(table.heads)))
    return METRIC_HEAD.fullmatch(table.heads[0]) is not None and not is_long


def _is_of_words(table: SeparatedValues, column: int) -> bool:
    cells = [row[column] for row in table.rows if column < len(row) and row[column]]
    return not UNIT_HEAD.fullmatch(table.heads[column]) and all(isinstance(_cell(cell), str) for cell in cells)


def _csv_records(source: ResultFile) -> Iterator[Record]:
    """Yield the rows of CSV, or the columns if each row is a metric."""
    with source.refusing_bad_csv():
        table = values_of(source.text())
    if table is None:
        raise ImportRefusedError(f"{source.name} is not CSV throughout: its rows have not as many cells as its head.")
    heads, rows = table.heads, table.rows
    if not _has_metrics_as_rows(table):
        cells_of_rows = [
            _with_statistics_apart(dict(_csv_value(name, cell) for name, cell in zip(heads, row, strict=False) if name))
            for row in rows
        ]
        rows_of_values = pivoted(cells_of_rows)
        stated_names = {name for values in rows_of_values for name, value in values.items() if value is not None}
        for number, values in enumerate(rows_of_values, table.line + 1):
            stated = {name: value for name, value in values.items() if name in stated_names}  # no empty column
            yield Record(number, _with_names_of_decoding(_with_metric_of_cell(stated)), table.settings)
        return
    arms = [head for head in heads[1:] if not UNIT_HEAD.fullmatch(head)]
    for column, head in enumerate(heads[1:], 1):
        if head not in arms or DERIVED_HEAD.fullmatch(head) or DERIVED.search(head):
            continue
        values = dict(
            _csv_value(_metric_label(heads, row), row[column]) for row in rows if column < len(row) and row[0]
        )
        arm = head if heads.count(head) == 1 else f"{head} (column {column + 1})"
        yield Record(column, values | ({COLUMN: arm} if len(arms) > 1 else {}), table.settings)


def _metric_label(heads: Sequence[str], row: Sequence[str]) -> str:
    """Return the name of a row's metric, with its unit if a column has that: 'ttft p50 ms'."""
    units = [cell for head, cell in zip(heads, row, strict=False) if UNIT_HEAD.fullmatch(head)]
    return " ".join([row[0].strip(), *units])


def _csv_value(name: str, cell: str) -> tuple[str, Any]:
    """Return the name and the value of a cell; a unit in the cell is that of the name."""
    value = _cell(cell)
    stated = read_cell(value) if isinstance(value, str) else None
    if stated is None or stated.unit not in (*TIMED, *MEMORY, "%") or stated.high is not None or stated.bound:
        return name, value
    return (name, stated.low) if value_name_of(name).unit else (f"{name} {stated.unit}", stated.low)


def _cell(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return cell.strip() or None
