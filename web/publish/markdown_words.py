"""Markdown building blocks that escape all foreign text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BACKTICKS = re.compile(r"`+")
_MARKUP = re.compile(r"[\\`*_\[\]<>|~$]|(?<=[\w])(?=://)|(?<=\bwww)(?=\.)|^[-+#](?=[\s#]|$)|^\d+(?=[.)]\s)")
_NOTIFIES = re.compile(r"(?<=[@#])(?=\w)")  # '@name' and '#12' are mentions and issue links on GitHub


def plain(text: object) -> str:
    """Return a foreign text on one line, without markup, entities or mentions."""
    return escaped(" ".join(str(text).split()))


def escaped(line: str) -> str:
    """Escape one line, keeping its spaces."""
    return _NOTIFIES.sub("<!-- -->", _MARKUP.sub(_escape, line.replace("&", "&amp;")))


def _escape(match: re.Match[str]) -> str:
    """Put the backslash after a number that would begin a list, before its dot."""
    return f"{match[0]}\\" if match[0].isdigit() or not match[0] else f"\\{match[0]}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: bool = False) -> str:
    """Return a table; cells are Markdown already."""
    rule = ["---", *("---:" if numeric else "---" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def fenced(text: str, language: str = "sh") -> str:
    """Return a code block that its text cannot end."""
    fence = backtick_fence(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def backtick_fence(text: str, min_length: int) -> str:
    """Return more backticks than occur in a row anywhere in the text."""
    return "`" * max(min_length, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
