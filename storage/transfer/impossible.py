"""Which numbers of a foreign table are taken: those that a collector of ours would have taken.

A value that cannot be is unknown. A row is left out where one cannot be that every row has, such as its moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from samples import BELOW_ZERO, MOST, UNKNOWABLE
from storage.rows import SAMPLE_TABLES

NUMBER = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT)(?P<is_list>\[\])?")
STATED = {"results", "accuracy", "accuracy_items"}  # by other tools: what they say may be below zero


class Sifted(NamedTuple):
    """Parts of a statement over a table of these columns."""

    columns: str
    is_row: str
    left_out: str  # how many values, those of which the row is left out among them


def sifted(table: str, columns: Mapping[str, str]) -> Sifted:
    """What is taken of a table that has these columns, with their types."""
    unknowable = next(UNKNOWABLE[kind] for kind, name in SAMPLE_TABLES.items() if name == table)
    picked, needed, counts = [], list[str](), list[str]()
    for name, kind in columns.items():
        found = NUMBER.fullmatch(kind)
        may_be_unknown = name in unknowable
        can_be = _can_be(name, bool(found["is_list"]), may_be_unknown and table not in STATED) if found else "true"
        picked.append(f'CASE WHEN {can_be} THEN "{name}" END AS "{name}"' if may_be_unknown and found else f'"{name}"')
        needed += [can_be] if found and not may_be_unknown else []
        counts += [f"count(*) FILTER (NOT {can_be})"] if found else []
    return Sifted(", ".join(picked), " AND ".join(needed) or "true", " + ".join(counts) or "0")


def _can_be(name: str, is_list: bool, is_measured: bool) -> str:
    """DuckDB sorts NaN above all numbers, so no range holds it."""
    least = 0.0 if is_measured and name not in BELOW_ZERO else -MOST
    if is_list:
        return f'coalesce(list_min("{name}") >= {least!r} AND list_max("{name}") <= {MOST!r}, true)'
    return f'coalesce("{name}" BETWEEN {least!r} AND {MOST!r}, true)'
