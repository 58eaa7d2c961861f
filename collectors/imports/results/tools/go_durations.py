"""Reads durations as programs in Go write them: '1m2.5s', '750.5µs'."""

from __future__ import annotations

import re

from collectors.imports.results.values import converted

_PART = re.compile(r"(?P<number>\d{1,12}(?:\.\d{1,20})?)(?P<unit>h|ms|m|s|µs|μs|us|ns)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ns": 1e-9}


def seconds_of(duration: str) -> float | None:
    """Return the seconds of a duration; None for another text."""
    parts = list(_PART.finditer(duration))
    is_complete = "".join(part[0] for part in parts) == duration
    if not parts or not is_complete:
        return None
    return sum(converted(float(part["number"]), _SECONDS[part["unit"]]) for part in parts)
