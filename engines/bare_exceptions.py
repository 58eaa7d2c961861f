"""Exceptions that explain nothing: without a message, or a KeyError with nothing but a key."""

from __future__ import annotations

import re

from engines.base import ParsedLine
from engines.build_failures import is_build_exception

_MOST_PROCESSES = 1000
_MOST_LINES = 20  # from the assertion to its exception, including other processes' lines
_ASSERTION = re.compile(r"\s*assert (?P<condition>\S.{2,300})")
_BARE_ASSERTION = re.compile(r"AssertionError:?$")
_LOCATED = re.compile(
    r"(?:\w+\.)*CompilationError: at \d+:\d+:\s*$"
)  # Triton's; its cause follows as `ValueError('…')`
_WRITTEN = re.compile(r"(?:[A-Z]\w*(?:Error|Exception))\((?P<quote>['\"]).{3,1000}(?P=quote),?\)$")
_BARE = re.compile(r"(?:\w+\.)*(?:KeyError: (?:'[^' ]*'|\"[^\" ]*\"|\d+)|\w*(?:Error|Exception):?)\s*$")


def is_bare_exception(text: str) -> bool:
    """Whether another exception of the same failure explains it better; a missing weight is explained by its key."""
    is_bare = _BARE.match(text) is not None and "weight" not in text
    return is_bare or _LOCATED.match(text) is not None or is_build_exception(text)


class CompilationCauses:
    """The causes that Triton prints after its errors: the exception that ended a compilation, as Python writes it."""

    def __init__(self) -> None:
        self._error_line: int | None = None

    def is_cause(self, line: ParsedLine) -> bool:
        """Return whether a line is the cause of the compilation error a few lines before it."""
        text = line.text.strip()
        if _LOCATED.match(text):
            self._error_line = line.number
        is_near = self._error_line is not None and line.number - self._error_line <= _MOST_LINES
        if not is_near or _WRITTEN.match(text) is None:
            return False
        self._error_line = None
        return True


class Assertions:
    """The assertions in the tracebacks of one log, by process: they explain an AssertionError without a message."""

    def __init__(self) -> None:
        self._conditions: dict[str | None, tuple[int, str]] = {}  # with the line's number

    def note(self, line: ParsedLine) -> None:
        """Remember the assertion if the line is the source of one."""
        if match := _ASSERTION.match(line.text):
            if len(self._conditions) >= _MOST_PROCESSES:
                self._conditions.clear()
            self._conditions[line.process] = line.number, match["condition"].rstrip()

    def explain(self, line: ParsedLine) -> str:
        """Return the text of an exception, with the failed assertion if it has no message and its source is known."""
        text = line.text.strip()
        number, condition = self._conditions.pop(line.process, (-_MOST_LINES, ""))
        is_explained = line.number - number <= _MOST_LINES and _BARE_ASSERTION.match(text) is not None
        return f"AssertionError: assert {condition}" if is_explained and condition else text
