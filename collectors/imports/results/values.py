"""Checked conversions of values from foreign files: a value of the expected kind, or None."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from domain import JsonValue
from reasons import Code, Reason
from redaction import mask_text
from samples import MOST

LONGEST_TEXT = 2_000
MOST_US = 2**31 - 1
LONGEST_S = 10 * 366 * 86_400.0
EARLIEST_S, LATEST_S = 946_684_800.0, 4_102_444_800.0  # the years 2000 to 2100


def number(value: Any) -> float | None:
    """A finite number that is not below zero; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        checked = float(value)
    except OverflowError:
        return None
    return checked if math.isfinite(checked) and 0 <= checked <= MOST else None


def why_no_number(value: Any) -> Reason:
    """Why `number` gives None."""
    if value is None:
        return Reason(Code.FILE_SAYS_NULL)
    if isinstance(value, float | int) and not isinstance(value, bool):
        return Reason(Code.IMPOSSIBLE_NUMBER)
    return Reason(Code.NOT_A_NUMBER, values={"text": mask_text(str(value)[:LONGEST_TEXT])[:40]})


def count(value: Any) -> int | None:
    """A whole number that is not below zero."""
    checked = number(value)
    return int(checked) if checked is not None and checked == int(checked) else None


def scaled(value: Any, factor: float) -> float | None:
    """A number in another unit: `factor` 1000 makes seconds milliseconds."""
    checked = number(value)
    return None if checked is None else checked * factor


def text(value: Any, most: int = LONGEST_TEXT) -> str | None:
    """A text, cut to a bound; None for anything else and for nothing."""
    return value[:most] if isinstance(value, str) and value else None


def dict_of(value: Any) -> Mapping[str, Any]:
    """The value if it is an object; else one without anything."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> Sequence[Any]:
    """The value if it is a list; else one without anything."""
    return value if isinstance(value, list) else []


def item(values: Sequence[Any], index: int) -> Any:
    """One of a list that may be too short."""
    return values[index] if index < len(values) else None


def moment(seconds: Any) -> datetime | None:
    """A time given in seconds since the epoch; None where it is none of this century."""
    checked = number(seconds)
    return datetime.fromtimestamp(checked, UTC) if checked is not None and EARLIEST_S < checked < LATEST_S else None


def after(began: datetime, seconds: float) -> datetime:
    """So long after a moment; the moment itself where no load lasts that long."""
    return began + timedelta(seconds=seconds) if -LONGEST_S < seconds < LONGEST_S else began


def pieces_us(first_ms: float | None, gaps: Sequence[Any]) -> list[int] | None:
    """Microseconds to the first piece of an answer and from each to the next, of milliseconds and of gaps in seconds.

    None where one is not known, or longer than the store holds.
    """
    known = [scaled(gap, 1e6) for gap in gaps]
    each_us = [scaled(first_ms, 1e3), *known]
    whole = [round(one) for one in each_us if one is not None and one <= MOST_US]
    return whole if gaps and len(whole) == len(each_us) else None


def digest(value: JsonValue) -> str:
    """16 hex digits, equal for equal values."""
    as_json = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(as_json.encode("utf-8", "replace")).hexdigest()[:16]


def cut(value: JsonValue, most: int = LONGEST_TEXT) -> JsonValue:
    """The value if its JSON is short, else the beginning of that."""
    as_json = json.dumps(value, default=str)
    return value if len(as_json) <= most else as_json[:most]
