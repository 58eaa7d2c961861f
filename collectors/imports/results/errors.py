"""Maps other tools' error messages of failed requests to Pitwall's error kinds."""

from __future__ import annotations

import re

KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("refused", re.compile(r"refused|cannot connect|connection error|connecterror", re.IGNORECASE)),
    ("timeout", re.compile(r"time[d]?[ _-]?out|timeout", re.IGNORECASE)),
    ("closed", re.compile(r"disconnect|closed|reset by peer|broken pipe|incomplete", re.IGNORECASE)),
    ("cancelled", re.compile(r"cancel", re.IGNORECASE)),
    ("http", re.compile(r"\b[45]\d\d\b|internal server error|bad request|too many requests", re.IGNORECASE)),
    ("malformed", re.compile(r"invalid|json|decode|parse", re.IGNORECASE)),
)
OTHER = "failed"  # without a recognised reason


def error_kind(message: str | None) -> str:
    """Return the kind of a failure from the tool's message."""
    return next((kind for kind, pattern in KINDS if message and pattern.search(message)), OTHER)
