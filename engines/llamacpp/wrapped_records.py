"""Records that a terminal wrapped at its width, or that a logger cut where the server's writes end."""

from __future__ import annotations

import re

from engines.base import ParsedLine
from engines.llamacpp.timings import is_cut_short, wholeness

REST = r"\b(?:tid|timestamp|id_slot|id_task|t_\w+|n_\w+)=|(?:second|ated)\)"  # in what a terminal wrapped; RE2 syntax
_REST = re.compile(REST)
_RECORD = re.compile(r"\s*(?:(?:INFO|WARN|ERR|VERB|DEBUG) +\[|slot |srv |\[ *\w+\] |\w+: )")
_CLOCK = re.compile(r"\d{1,9}\.\d\d\.\d{3}\.\d{3}(?: [A-Z])?\s*$")
_MOST_LINES = 8  # of one record: a terminal of 40 columns


def is_fragment(text: str) -> bool:
    """Whether this may be the end of a wrapped record, or the clock of one that a logger cut: not a message."""
    return _CLOCK.match(text) is not None or all("=" in word for word in text.split()[1:])


class RecordJoiner:
    """Joins the lines of a wrapped timing record; a record that is cut short waits for the next line."""

    def __init__(self) -> None:
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
            return [head, *self._complete(line, line.number)]
        joined = [head._replace(text=f"{head.text}{glue}{line.text}") for glue in ("", " ")]
        return self._complete(max(joined, key=lambda record: wholeness(record.text)), line.number)

    def release(self) -> list[ParsedLine]:
        """Return the record that waits, as far as it goes."""
        head, self._head = self._head, None
        return [] if head is None else [head]

    def _complete(self, record: ParsedLine, last_number: int) -> list[ParsedLine]:
        if not is_cut_short(record.text) or last_number - record.number >= _MOST_LINES:
            return [record]
        self._head, self._last_number = record, last_number
        return []

    def _continues(self, line: ParsedLine) -> bool:
        is_message = line.stamp is not None or line.level is not None or _RECORD.match(line.text) is not None
        return line.number == self._last_number + 1 and not is_message and _REST.search(line.text) is not None
