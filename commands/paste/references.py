"""Finds the end of a shell reference: `$NAME`, `${...}`, `$(...)` or backticks."""

from __future__ import annotations

import re

_NAME = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_MAX_LENGTH = 500  # of ${...} or $(...); longer ones are plain text


def reference_end(text: str, start: int) -> int:
    """Return the position after the reference that starts here; after its first character if there is none."""
    opening = text[start : start + 2]
    if opening in ("${", "$("):
        return _closing_end(text, start + 1, opening[1], "}" if opening[1] == "{" else ")") or start + 1
    if opening[0] == "`":
        end = text.find("`", start + 1, start + _MAX_LENGTH)
        return end + 1 if end > 0 else start + 1
    name = _NAME.match(text, start)
    return name.end() if name else start + 1


def _closing_end(text: str, start: int, opens: str, closes: str) -> int | None:
    limit = start + _MAX_LENGTH
    if text.find(closes, start, limit) < 0:
        return None
    depth = 0
    for position, char in enumerate(text[start:limit], start):
        depth += (char == opens) - (char == closes)
        if depth == 0:
            return position + 1
    return None
