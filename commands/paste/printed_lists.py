"""Rewrites a command that a program prints as a list: `command: [vllm serve m]` as Go does, `['vllm', 'serve']`."""

from __future__ import annotations

import re
from shlex import join

from commands.paste.servers import SERVER_START
from python_syntax import evaluate_literal

MAX_LINE_CHARS = 20_000
_LIST = re.compile(
    r"[ \t]*(?!-[ \t])\S.{0,2000}?[ \t,(]\b(?:command|cmd|args|argv|arguments)[\"']?[ \t]*[:=][ \t]*\[", re.IGNORECASE
)  # behind other words: `command: [...]` at a line's start is a key of YAML
_QUOTED = re.compile(r"[ \t]*[\"']")


def rewrite_printed_lists(text: str) -> str:
    """Return a text whose lines with such a list are the commands that they show; other lines stay as they are."""
    if "[" not in text:
        return text
    return "\n".join(_command_in(line) or line for line in text.split("\n"))


def _command_in(line: str) -> str | None:
    match = _LIST.match(line) if len(line) <= MAX_LINE_CHARS else None
    end = line.rfind("]")
    if match is None or end < match.end():
        return None
    body = line[match.end() : end]
    words = _quoted_words(body) if _QUOTED.match(body) else _plain_words(body)
    command = join(words) if words else None
    return command if command and SERVER_START.search(f"{' '.join(words or ())} ") else None


def _quoted_words(body: str) -> list[str] | None:
    """The words of a list as Python or JSON writes it."""
    try:
        words = evaluate_literal(f"[{body}]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return words if all(isinstance(word, str) for word in words) else None


def _plain_words(body: str) -> list[str]:
    """The words that Go writes without quotes, with blanks between them; JSON in braces is one of them."""
    words: list[str] = []
    depth = 0
    for piece in body.split(" "):
        if depth:
            words[-1] += f" {piece}"
        elif piece:
            words.append(piece)
        depth = max(0, depth + piece.count("{") + piece.count("[") - piece.count("}") - piece.count("]"))
    return words
