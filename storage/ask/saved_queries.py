"""Queries that people keep: one .sql file each in the data folder, so that an editor and git can have them too."""

from __future__ import annotations

import re
from pathlib import Path

from machine.private_files import write_private

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,59}")
MOST_BYTES = 256 * 1024


class SavedQueries:
    """The folder's queries by name; a name is the file's without its ending."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """In alphabetical order; files whose names could not have been given here are left out."""
        found = [path.stem for path in self._folder.glob("*.sql") if NAME.fullmatch(path.stem) and path.is_file()]
        return sorted(found, key=str.lower)

    def read(self, name: str) -> str | None:
        """The statement, or None where there is no such query; raises OSError when it cannot be read."""
        path = self._path(name) if NAME.fullmatch(name) else None
        return path.read_text(errors="replace")[:MOST_BYTES] if path and path.is_file() else None

    def save(self, name: str, sql: str) -> None:
        """Keep the statement in place of what stood under this name; raises ValueError on a name we do not take."""
        if not NAME.fullmatch(name):
            raise ValueError("A name has letters, digits, spaces, - and _, and at most 60 of them.")
        write_private(self._path(name), sql.encode())

    def delete(self, name: str) -> None:
        """Delete the query of this name; a name that none has is passed over. Raises OSError."""
        if NAME.fullmatch(name):
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.sql"
