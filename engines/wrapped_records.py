"""Records that a terminal wrapped at its width: their lines are joined again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from engines.base import ParsedLine

_MOST_ARGUMENT_LINES = 200
_PAIR = re.compile(r"\w=[\w'\"(\[{-]")
_MOST_LINES = 8  # of one record: a terminal of 40 columns


def without_padding(record: ParsedLine) -> ParsedLine:
    """Return the record without the blanks with which a terminal pads copied lines to its width."""
    return record._replace(text=record.text.rstrip()) if record.text[-1:].isspace() else record


class WrappedForm(NamedTuple):
    """How an engine's long records look when a terminal has wrapped them."""

    wholeness: Callable[[str], int | None]  # of a text; None: whole, or no such record; else the more, the fuller
    rest: re.Pattern[str]  # in the later lines; RE2 syntax, because these lines pass the filter by it
    other: re.Pattern[str]  # the beginning of another record without a stamp


class RecordJoiner:
    """Joins the lines of wrapped records; a record that is cut short waits for the next line. None ends with blanks."""

    def __init__(self, form: WrappedForm) -> None:
        self._form = form
        self._head: ParsedLine | None = None
        self._last_number = 0

    @property
    def waiting_offset(self) -> int | None:
        """Start of the record that waits for its next line; None if there is none."""
        return None if self._head is None else self._head.offset

    def add(self, line: ParsedLine) -> list[ParsedLine]:
        """Return the records that are complete with this line, in order."""
        head, self._head = self._head, None
        if head is None:
            return self._complete(line, line.number)
        if not self._continues(line):
            return [without_padding(head), *self._complete(line, line.number)]
        joined = [head._replace(text=f"{head.text}{glue}{line.text}") for glue in ("", " ")]
        return self._complete(max(joined, key=self._rank), line.number)

    def release(self) -> list[ParsedLine]:
        """Return the record that waits, as far as it goes."""
        head, self._head = self._head, None
        return [] if head is None else [without_padding(head)]

    def _rank(self, record: ParsedLine) -> float:
        wholeness = self._form.wholeness(record.text)
        return float("inf") if wholeness is None else wholeness

    def _complete(self, record: ParsedLine, last_number: int) -> list[ParsedLine]:
        if self._form.wholeness(record.text) is None or last_number - record.number >= _MOST_LINES:
            return [without_padding(record)]
        self._head, self._last_number = record, last_number
        return []

    def _continues(self, line: ParsedLine) -> bool:
        is_other = line.stamp is not None or line.level is not None or self._form.other.match(line.text) is not None
        return line.number == self._last_number + 1 and not is_other and self._form.rest.search(line.text) is not None


def may_go_on(text: str) -> bool:
    """Whether a terminal may have wrapped this record: arguments are printed as `name=value`, or in brackets."""
    return _PAIR.search(text) is not None or _is_open(text)


def _is_open(text: str) -> bool:
    return sum(map(text.count, "([{")) > sum(map(text.count, ")]}"))


def join_open_record(lines: Iterable[ParsedLine]) -> str:
    """Return the text of the first line, with the lines into which a terminal wrapped it."""
    text = ""
    for index, line in enumerate(lines):
        is_record = line.stamp is not None or line.level is not None or line.process is not None
        goes_on = _is_open(text) or (_PAIR.search(line.text) is not None and may_go_on(text))
        if index and (is_record or not goes_on or index > _MOST_ARGUMENT_LINES):
            break
        text += line.text
    return text
