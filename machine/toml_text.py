"""Parses TOML that people write, with the limits that tomllib leaves to its caller."""

from __future__ import annotations

import tomllib
from typing import Any

LARGEST_INTEGER = 1 << 64  # TOML 1.0 promises 64 bits


def parse_toml(text: str) -> dict[str, Any]:
    """Return the document; raises tomllib.TOMLDecodeError, also for integers and nesting that no reader expects."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists in lists in lists
        raise tomllib.TOMLDecodeError("a number is too long, or values are nested too deeply") from None
    if _has_long_integer(document):
        raise tomllib.TOMLDecodeError("an integer has more than 64 bits")
    return document


def _has_long_integer(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_long_integer, value.values()))
    if isinstance(value, list):
        return any(map(_has_long_integer, value))
    return isinstance(value, int) and not -LARGEST_INTEGER <= value < LARGEST_INTEGER
