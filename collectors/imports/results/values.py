"""Checked conversions of values from foreign files: a value of the expected kind, or None."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from domain import JsonValue
from reasons import Code, Reason
from redaction import mask_text
from samples import LARGEST_COUNT

MAX_TEXT_CHARS = 2_000
MAX_US = 2**31 - 1
MAX_DURATION_S = 10 * 366 * 86_400.0
EARLIEST_S, LATEST_S = 946_684_800.0, 4_102_444_800.0  # the years 2000 to 2100


def number(value: Any) -> float | None:
    """Return a finite non-negative number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        checked = float(value)
    except OverflowError:
        return None
    return checked if math.isfinite(checked) and 0 <= checked <= LARGEST_COUNT else None


def signed_number(value: Any) -> float | None:
    """Return a finite number of a quantity that may be negative, as a difference or a delay is; None for else."""
    is_negative = isinstance(value, int | float) and not isinstance(value, bool) and value < 0
    size = number(-value if is_negative else value)
    return -size if size is not None and is_negative else size


def no_number_reason(value: Any) -> Reason:
    """Return the reason why `number` returns None."""
    if value is None:
        return Reason(Code.FILE_SAYS_NULL)
    if isinstance(value, float | int) and not isinstance(value, bool):
        return Reason(Code.IMPOSSIBLE_NUMBER)
    return Reason(Code.NOT_A_NUMBER, values={"text": mask_text(str(value)[:MAX_TEXT_CHARS])[:40]})


def count(value: Any) -> int | None:
    """Return a non-negative integer; None for anything else."""
    checked = number(value)
    return int(checked) if checked is not None and checked == int(checked) else None


def scaled(value: Any, factor: float) -> float | None:
    """Return a number in another unit: `factor` 1000 converts seconds to milliseconds."""
    checked = number(value)
    return None if checked is None else converted(checked, factor)


def converted(value: float, factor: float) -> float:
    """Return a printed number in another unit with its digits: 24.9804 s are 24980.4 ms, not 24980.399999999998."""
    if factor == 1.0:
        return value
    divisor = round(1 / factor)
    is_divided = divisor > 0 and 1 / divisor == factor  # a sixtieth has no digits of its own
    exact = Decimal(repr(value)) / divisor if is_divided else Decimal(repr(value)) * Decimal(repr(factor))
    return float(exact)


def text(value: Any, max_chars: int = MAX_TEXT_CHARS) -> str | None:
    """Return a non-empty text, shortened to `max_chars`; None for anything else."""
    return value[:max_chars] if isinstance(value, str) and value else None


def dict_of(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def item(values: Sequence[Any], index: int) -> Any:
    """Return an element of a list, None if the list is too short."""
    return values[index] if index < len(values) else None


def time_of(seconds: Any) -> datetime | None:
    """Convert seconds since the epoch; None outside this century."""
    checked = number(seconds)
    return datetime.fromtimestamp(checked, UTC) if checked is not None and EARLIEST_S < checked < LATEST_S else None


def time_of_text(value: Any) -> datetime | None:
    """Return the time that a text states in the form of ISO 8601; None for anything else."""
    try:
        return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else None
    except ValueError:
        return None


def after(start: datetime, seconds: float) -> datetime:
    """Return `start` plus a duration; `start` itself if the duration is implausible."""
    return start + timedelta(seconds=seconds) if -MAX_DURATION_S < seconds < MAX_DURATION_S else start


def pieces_us(first_ms: float | None, gaps: Sequence[Any]) -> list[int] | None:
    """Return the times to the first piece of an answer and between pieces in microseconds; `gaps` are in seconds.

    None if one is unknown or too long for the store.
    """
    gaps_us = [scaled(gap, 1e6) for gap in gaps]
    all_us = [scaled(first_ms, 1e3), *gaps_us]
    rounded_us = [round(duration_us) for duration_us in all_us if duration_us is not None and duration_us <= MAX_US]
    return rounded_us if gaps and len(rounded_us) == len(all_us) else None


def digest(value: JsonValue) -> str:
    """Return 16 hex digits, equal for equal values."""
    as_json = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(as_json.encode("utf-8", "replace")).hexdigest()[:16]


def cut(value: JsonValue, max_chars: int = MAX_TEXT_CHARS) -> JsonValue:
    """Return the value if its JSON is short, else the beginning of the JSON."""
    as_json = json.dumps(value, default=str)
    return value if len(as_json) <= max_chars else as_json[:max_chars]
