"""Queries that people keep: one .sql file each in the data folder, so that an editor and git can have them too.

How its rows are shown stands in a comment above the statement, as words of the page's address; a file without one is a
query too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

from machine.private_files import write_private

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,59}")
MOST_BYTES = 256 * 1024
SHOWN = "-- shown: "
MOST_SHOWN_CHARACTERS, MOST_WORDS = 4096, 100


class SavedQuery(NamedTuple):
    """A statement, and how its rows are shown: name -> words, of which whoever shows them takes those it knows."""

    sql: str
    shown: Mapping[str, list[str]]


class SavedQueries:
    """The folder's queries by name; a name is the file's without its ending."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """In alphabetical order; files whose names could not have been given here are left out."""
        found = [path.stem for path in self._folder.glob("*.sql") if NAME.fullmatch(path.stem) and path.is_file()]
        return sorted(found, key=str.lower)

    def read(self, name: str) -> SavedQuery | None:
        """The query, or None where there is no such one; raises OSError when it cannot be read."""
        path = self._path(name) if NAME.fullmatch(name) else None
        if path is None or not path.is_file():
            return None
        with path.open("rb") as file:
            return _read(file.read(MOST_BYTES).decode(errors="replace"))

    def save(self, name: str, sql: str, shown: Mapping[str, Sequence[str]] | None = None) -> None:
        """Keep the query in place of what stood under this name; raises ValueError on a name we do not take."""
        if not NAME.fullmatch(name):
            raise ValueError("A name has letters, digits, spaces, - and _, and at most 60 of them.")
        words = urlencode(shown or {}, doseq=True)
        # A statement that begins like ours keeps its own first line below it.
        is_shown = (words and len(words) <= MOST_SHOWN_CHARACTERS) or sql.startswith(SHOWN)
        head = f"{SHOWN}{words}\n" if is_shown else ""
        write_private(self._path(name), (head + sql).encode())

    def delete(self, name: str) -> None:
        """Delete the query of this name; a name that none has is passed over. Raises OSError."""
        if NAME.fullmatch(name):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sql"


def _read(text: str) -> SavedQuery:
    head, _, rest = text.partition("\n")
    if not head.startswith(SHOWN):
        return SavedQuery(text, {})
    words = head.removeprefix(SHOWN).strip()
    with suppress(ValueError):  # too many fields
        if len(words) <= MOST_SHOWN_CHARACTERS:
            return SavedQuery(rest, parse_qs(words, keep_blank_values=True, max_num_fields=MOST_WORDS))
    return SavedQuery(rest, {})
