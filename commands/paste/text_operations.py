"""Computes what a shell cuts or replaces in a variable's value: `${NAME#prefix}`, `${NAME%%suffix}`, `${NAME//a/b}`."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import NamedTuple

MAX_LENGTH = 2000  # characters of a value that is cut
# An escape, a class that `fnmatch` reads otherwise, an extended pattern, and what would have to be computed first.
_UNREAD = re.compile(r"[\\$`()]|\[\^")
_ANCHORS = ("#", "%")  # `${NAME/#prefix/x}`
_OPERATION = re.compile(r"\$\{(?P<name>\w+)(?P<operator>##?|%%?|//?)(?P<operand>[^\n]{0,200})\}$")


class TextOperation(NamedTuple):
    """An operation on the value of a variable; `operand`: a pattern, after `/` with its replacement."""

    name: str
    operator: str
    operand: str


def text_operation(reference: str) -> TextOperation | None:
    """Return the operation in a reference; None for any other reference."""
    match = _OPERATION.match(reference)
    return TextOperation(match["name"], match["operator"], match["operand"]) if match else None


def apply_operation(operator: str, operand: str, value: str) -> str | None:
    """Return the value after the operation; None if it is too long to search, or the operand has a form not read."""
    if len(value) > MAX_LENGTH or _UNREAD.search(operand):
        return None
    if operator.startswith("/"):
        return None if operand.startswith(_ANCHORS) else _replace(operator == "//", operand, value)
    matches = re.compile(translate(operand)).match
    is_prefix, is_longest = operator[0] == "#", len(operator) == 2
    lengths = sorted(range(len(value) + 1), reverse=is_longest)
    for length in lengths:
        start = length if is_prefix else len(value) - length
        piece, remainder = (value[:start], value[start:]) if is_prefix else (value[start:], value[:start])
        if matches(piece):
            return remainder
    return value


def _replace(is_everywhere: bool, operand: str, value: str) -> str:
    pattern, _, replacement = operand.partition("/")
    expression = translate(pattern).removesuffix(r"\Z") if pattern else r"(?!)"
    return re.sub(
        expression,
        lambda match: replacement if match[0] else "",  # a shell replaces no empty text
        value,
        count=0 if is_everywhere else 1,
    )
