"""Pieces of Markdown in which foreign words are never markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BACKTICKS = re.compile(r"`+")
_MARKUP = re.compile(r"[\\`*_\[\]<>|~$]|(?<=[\w])(?=://)|(?<=\bwww)(?=\.)|^[-+#](?=[\s#]|$)|^\d+(?=[.)]\s)")
_NOTIFIES = re.compile(r"(?<=[@#])(?=\w)")  # '@name' and '#12' mean somebody and something on a forge


def plain(words: object) -> str:
    """Foreign words on one line: no markup, no entity, nobody is notified by it."""
    return escaped(" ".join(str(words).split()))


def escaped(line: str) -> str:
    """The same of one line, its spaces as they are."""
    return _NOTIFIES.sub("<!-- -->", _MARKUP.sub(_escape, line.replace("&", "&amp;")))


def _escape(found: re.Match[str]) -> str:
    """A number that would begin a list has its stop escaped, which stands behind it."""
    return f"{found[0]}\\" if found[0].isdigit() or not found[0] else f"\\{found[0]}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numeric: bool = False) -> str:
    """Cells are Markdown already."""
    rule = ["---", *("---:" if numeric else "---" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def fenced(text: str, language: str = "sh") -> str:
    """A block of code that its own text cannot end."""
    fence = longer_than(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def longer_than(text: str, fewest: int) -> str:
    """More backticks than stand in a row anywhere in the text."""
    return "`" * max(fewest, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))
