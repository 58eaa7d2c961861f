"""Values as SQL text: for statements that take no parameters, and for statements shown to people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any


def quoted(text: str) -> str:
    """The text as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def as_name(text: str) -> str:
    """The quoted name of a table, view, macro or column."""
    return '"' + text.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """A parameter as SQL text; raises TypeError for types that the store's queries do not use."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ {quoted(value.isoformat())}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    raise TypeError(f"no SQL literal for {type(value).__name__}")


def with_values(sql: str, params: Mapping[str, Any]) -> str:
    """The statement with each $name replaced by its value."""
    return re.sub(r"\$(\w+)", lambda match: literal(params[match[1]]), sql).strip()
