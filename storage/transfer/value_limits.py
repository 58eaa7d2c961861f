"""Filters for the values of a foreign table, with the limits of Pitwall's own collectors.

Impossible values become unknown; what should be a JSON object and is none becomes an empty one. A row is left out if a
required value, such as its time, is impossible or missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from samples import LARGEST_COUNT, OPTIONAL_FIELDS, REQUIRED_FIELDS, SIGNED_FIELDS
from storage.rows import SAMPLE_TABLES

NUMBER = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT)(?P<is_list>\[\])?")
EMPTY_OBJECT = "'{}'::JSON"
STATED_TABLES = {"results", "accuracy", "accuracy_items"}  # from other tools: their values may be negative


EARLIEST, LATEST = "1970-01-01", "2100-01-01"  # UTC; every page can show the times between them


def is_possible_time(at: datetime) -> bool:
    """Whether a time has a zone and lies between EARLIEST and LATEST."""
    return at.tzinfo is not None and datetime.fromisoformat(f"{EARLIEST}T00:00Z") <= at < datetime.fromisoformat(
        f"{LATEST}T00:00Z"
    )


def possible_times(columns: Mapping[str, str]) -> str:
    """Return SQL for whether all times of a row are unknown or possible. columns: name -> type of the table."""
    times = [name for name, kind in columns.items() if kind.startswith("TIMESTAMP")]
    range_sql = f"BETWEEN TIMESTAMPTZ '{EARLIEST} 00:00:00+00' AND TIMESTAMPTZ '{LATEST} 00:00:00+00'"
    return " AND ".join(f'coalesce("{name}" {range_sql}, true)' for name in times) or "true"


class ColumnFilters(NamedTuple):
    """Parts of a SELECT over a foreign table."""

    columns: str
    is_row: str
    left_out: str  # number of values left out, including those that exclude their row


def column_filters(table: str, columns: Mapping[str, str]) -> ColumnFilters:
    """Return the filters for a table with these columns and types."""
    sample_type = next(kind for kind, name in SAMPLE_TABLES.items() if name == table)
    optional_fields, required_fields = OPTIONAL_FIELDS[sample_type], REQUIRED_FIELDS[sample_type]
    selected, needed, counts = [], list[str](), list[str]()
    for name, kind in columns.items():
        may_be_unknown = name in optional_fields
        condition = _condition(table, name, kind, may_be_unknown)
        other = EMPTY_OBJECT if kind == "JSON" and not may_be_unknown else "NULL"
        is_replaced = may_be_unknown or kind == "JSON"
        selected.append(
            f'CASE WHEN {condition} THEN "{name}" ELSE {other} END AS "{name}"'
            if condition and is_replaced
            else f'"{name}"'
        )
        needed += [condition] if condition and not is_replaced else []
        counts += [f'count(*) FILTER ("{name}" IS NOT NULL AND NOT {condition})'] if condition else []
        if name in required_fields:
            needed.append(f'"{name}" IS NOT NULL')
            counts.append(f'count(*) FILTER ("{name}" IS NULL)')
    return ColumnFilters(", ".join(selected), " AND ".join(needed) or "true", " + ".join(counts) or "0")


def _condition(table: str, name: str, kind: str, may_be_unknown: bool) -> str | None:
    """SQL for whether a value is possible; None for types whose every value is."""
    if kind == "JSON":
        return _shape_condition(name, is_object=not may_be_unknown)
    if match := NUMBER.fullmatch(kind):
        return _range_condition(name, bool(match["is_list"]), may_be_unknown and table not in STATED_TABLES)
    return None


def _shape_condition(name: str, is_object: bool) -> str:
    """SQL for whether a JSON value is an object, else whether it is a list of texts."""
    if is_object:
        return f"coalesce(json_type(\"{name}\") = 'OBJECT', false)"
    texts = f"list_filter(json_extract(\"{name}\", '$[*]'), lambda item: json_type(item) <> 'VARCHAR')"
    return f"coalesce(json_type(\"{name}\") = 'ARRAY' AND len({texts}) = 0, false)"


def _range_condition(name: str, is_list: bool, is_measured: bool) -> str:
    """SQL for whether a value is in range; DuckDB sorts NaN above all numbers, so it never is."""
    minimum = 0.0 if is_measured and name not in SIGNED_FIELDS else -LARGEST_COUNT
    if is_list:
        return f'coalesce(list_min("{name}") >= {minimum!r} AND list_max("{name}") <= {LARGEST_COUNT!r}, true)'
    return f'coalesce("{name}" BETWEEN {minimum!r} AND {LARGEST_COUNT!r}, true)'


def impossible_value(content: object, name: str = "value") -> str | None:
    """Return the name of the first time or number in a record that cannot be; None if there is none."""
    if isinstance(content, datetime):
        return None if is_possible_time(content) else name
    if isinstance(content, int | float):
        return None if math.isfinite(content) and abs(content) <= LARGEST_COUNT else name
    if isinstance(content, Mapping):
        return next(filter(None, (impossible_value(value, str(key)) for key, value in content.items())), None)
    if isinstance(content, list | tuple):
        return next(filter(None, (impossible_value(value, name) for value in content)), None)
    return None
