"""Saved queries: one .sql file each in the data folder, so that editors and git can be used.

The display settings are stored in an optional comment above the statement, as URL parameters of the page.
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
MAX_BYTES = 256 * 1024
DISPLAY_PREFIX = "-- shown: "
MAX_DISPLAY_CHARACTERS, MAX_DISPLAY_FIELDS = 4096, 100


class SavedQuery(NamedTuple):
    """A statement and its display settings (URL parameter -> values); unknown ones are ignored by the page."""

    sql: str
    display: Mapping[str, list[str]]


class SavedQueries:
    """The folder's queries; a query's name is the file name without its suffix."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """Return the names in alphabetical order; files with invalid names are left out."""
        stems = [path.stem for path in self._folder.glob("*.sql") if NAME.fullmatch(path.stem) and path.is_file()]
        return sorted(stems, key=str.lower)

    def read(self, name: str) -> SavedQuery | None:
        """Return the query, or None if it does not exist; raises OSError if it cannot be read."""
        path = self._path(name) if NAME.fullmatch(name) else None
        if path is None or not path.is_file():
            return None
        with path.open("rb") as file:
            return _read(file.read(MAX_BYTES).decode(errors="replace"))

    def save(self, name: str, sql: str, display: Mapping[str, Sequence[str]] | None = None) -> None:
        """Create or replace the query of this name; raises ValueError for an invalid name."""
        if not NAME.fullmatch(name):
            raise ValueError("A name has at most 60 letters, digits, spaces, - and _.")
        encoded = urlencode(display or {}, doseq=True)
        # A statement that starts with the prefix itself gets a header, to keep its first line.
        has_display = (encoded and len(encoded) <= MAX_DISPLAY_CHARACTERS) or sql.startswith(DISPLAY_PREFIX)
        head = f"{DISPLAY_PREFIX}{encoded}\n" if has_display else ""
        write_private(self._path(name), (head + sql).encode())

    def delete(self, name: str) -> None:
        """Delete the query of this name, if it exists. Raises OSError."""
        if NAME.fullmatch(name):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sql"


def _read(text: str) -> SavedQuery:
    head, _, sql = text.partition("\n")
    if not head.startswith(DISPLAY_PREFIX):
        return SavedQuery(text, {})
    encoded = head.removeprefix(DISPLAY_PREFIX).strip()
    with suppress(ValueError):  # too many fields
        if len(encoded) <= MAX_DISPLAY_CHARACTERS:
            return SavedQuery(sql, parse_qs(encoded, keep_blank_values=True, max_num_fields=MAX_DISPLAY_FIELDS))
    return SavedQuery(sql, {})
