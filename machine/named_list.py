"""Named entries in one private JSON file, read again at each use because a CLI process may change it.

A CLI process cannot write to the store's audit, which one process owns. Its audit entries are therefore written to the
same file together with the change, and stay there until that process has copied them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter

from domain import AuditEntry
from errors import PitwallError
from machine.private_files import write_private
from machine.regular_file import NotRegularError, open_regular, pin_path
from machine.shared_file import file_lock

Entry = TypeVar("Entry", bound=BaseModel)
Record = Callable[[Iterable[AuditEntry]], Future[None]]
UNTOLD = "untold"
_audit_entries = TypeAdapter(list[AuditEntry])
_log = logging.getLogger(__name__)


class _Content(NamedTuple, Generic[Entry]):
    """Content of the file; `unreported`: changes that the store's audit does not have yet."""

    entries: list[Entry]
    unreported: list[AuditEntry]


@dataclass(frozen=True)
class EntryListKind(Generic[Entry]):
    """Entry type, limits and messages of one such file."""

    entry: type[Entry]
    key: str  # of the list in the file's JSON object
    name: str  # the field that names an entry
    max_entries: int
    refusal: type[PitwallError]
    unreadable_message: str  # logged when the file cannot be read
    invalid_message: str  # formatted with the path
    too_many: str  # formatted with `max_entries`


class NamedList(Generic[Entry]):
    """List in a file of mode 0600; changes hold the file's lock."""

    def __init__(self, path: Path, kind: EntryListKind[Entry]) -> None:
        self._path, self._kind = path, kind
        self._entries: TypeAdapter[list[Entry]] = TypeAdapter(list[kind.entry])  # type: ignore[name-defined]

    def all(self) -> list[Entry]:
        """Return the entries in the order in which they were added; if the file is invalid, log it and return none."""
        try:
            return self._read().entries
        except (OSError, self._kind.refusal) as error:
            _log.warning("%s: %s", self._kind.unreadable_message, error)
            return []

    def keep(self, entry: Entry, audit: AuditEntry | None = None) -> None:
        """Add an entry or replace the one of its name, with its audit entry. Raises the kind's refusal, OSError."""
        with file_lock(self._path):
            content = self._read()
            other_entries = [existing for existing in content.entries if self._name(existing) != self._name(entry)]
            if len(other_entries) >= self._kind.max_entries:
                raise self._kind.refusal(self._kind.too_many.format(self._kind.max_entries))
            self._write([*other_entries, entry], [*content.unreported, *([audit] if audit else [])])

    def drop(self, name: str, missing: str, audit: Callable[[Entry], AuditEntry] | None = None) -> Entry:
        """Remove and return an entry. Raises the kind's refusal (for an unknown name: `missing`), OSError."""
        with file_lock(self._path):
            content = self._read()
            removed = next((existing for existing in content.entries if self._name(existing) == name), None)
            if removed is None:
                raise self._kind.refusal(missing)
            remaining = [existing for existing in content.entries if existing is not removed]
            self._write(remaining, [*content.unreported, *([audit(removed)] if audit else [])])
        return removed

    def record_audit(self, record: Record) -> None:
        """Copy unreported changes to the store's audit; raises PitwallError, OSError."""
        if not (reported := self._read().unreported):
            return
        record(reported).result()  # stored durably before they leave the file; without the lock, since it may take long
        with file_lock(self._path):
            content = self._read()
            self._write(content.entries, content.unreported[len(reported) :])

    def _name(self, entry: Entry) -> str:
        return str(getattr(entry, self._kind.name))

    def _read(self) -> _Content[Entry]:
        try:
            with open_regular(pin_path(self._path)) as file:
                document = dict(json.loads(file.read()))
            entries = self._entries.validate_python(document.get(self._kind.key, []))
            return _Content(entries, _audit_entries.validate_python(document.get(UNTOLD, [])))
        except FileNotFoundError:
            return _Content([], [])
        except (ValueError, TypeError, RuntimeError, NotRegularError):  # of pydantic too
            raise self._kind.refusal(self._kind.invalid_message.format(self._path)) from None

    def _write(self, entries: list[Entry], unreported: list[AuditEntry]) -> None:
        document: dict[str, object] = {self._kind.key: self._entries.dump_python(entries, mode="json")}
        if unreported:
            document[UNTOLD] = _audit_entries.dump_python(unreported, mode="json")
        write_private(self._path, json.dumps(document, indent=1).encode())
