"""Entries by name in one private file of JSON, read at each use: a shell may change it meanwhile.

A shell cannot write to the store's audit, which one process owns: what it reports stays in the file, written with the
change that it reports, until that process has taken it.
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
from machine.regular_file import NotRegularError, opened, pinned
from machine.shared_file import locked

Entry = TypeVar("Entry", bound=BaseModel)
Record = Callable[[Iterable[AuditEntry]], Future[None]]
UNTOLD = "untold"
_audit_entries = TypeAdapter(list[AuditEntry])
_log = logging.getLogger(__name__)


class _Content(NamedTuple, Generic[Entry]):
    """What the file holds; `untold`: changes that the store's audit does not have yet."""

    entries: list[Entry]
    untold: list[AuditEntry]


@dataclass(frozen=True)
class Kind(Generic[Entry]):
    """What such a file holds, and the words in which a person reads of it."""

    entry: type[Entry]
    key: str  # of the one object in the file
    name: str  # the field that names an entry
    most: int
    refusal: type[PitwallError]
    none_known: str  # to the log, where the file is none
    no_list: str  # with the path
    too_many: str


class NamedList(Generic[Entry]):
    """A file of mode 0600; whoever changes it is alone meanwhile."""

    def __init__(self, path: Path, kind: Kind[Entry]) -> None:
        self._path, self._kind = path, kind
        self._entries: TypeAdapter[list[Entry]] = TypeAdapter(list[kind.entry])  # type: ignore[name-defined]

    def all(self) -> list[Entry]:
        """In the order in which they were kept; none where the file is none, which is logged."""
        try:
            return self._read().entries
        except (OSError, self._kind.refusal) as error:
            _log.warning("%s: %s", self._kind.none_known, error)
            return []

    def keep(self, entry: Entry, audit: AuditEntry | None = None) -> None:
        """Keep an entry, in place of one of its name; `audit`: its entry there. Raises the kind's refusal, OSError."""
        with locked(self._path):
            known = self._read()
            others = [one for one in known.entries if self._name(one) != self._name(entry)]
            if len(others) >= self._kind.most:
                raise self._kind.refusal(self._kind.too_many.format(self._kind.most))
            self._write([*others, entry], [*known.untold, *([audit] if audit else [])])

    def drop(self, name: str, missing: str, audit: Callable[[Entry], AuditEntry] | None = None) -> Entry:
        """Keep it no longer. Raises the kind's refusal, with `missing`, for a name that none has; OSError."""
        with locked(self._path):
            known = self._read()
            gone = next((one for one in known.entries if self._name(one) == name), None)
            if gone is None:
                raise self._kind.refusal(missing)
            left = [one for one in known.entries if one is not gone]
            self._write(left, [*known.untold, *([audit(gone)] if audit else [])])
        return gone

    def record_audit(self, record: Record) -> None:
        """Give the store's audit what it lacks; raises PitwallError, OSError."""
        if not (news := self._read().untold):
            return
        record(news).result()  # durable, before the file forgets it; without the lock, for it may take long
        with locked(self._path):
            known = self._read()
            self._write(known.entries, known.untold[len(news) :])

    def _name(self, entry: Entry) -> str:
        return str(getattr(entry, self._kind.name))

    def _read(self) -> _Content[Entry]:
        try:
            with opened(pinned(self._path)) as file:
                held = dict(json.loads(file.read()))
            entries = self._entries.validate_python(held.get(self._kind.key, []))
            return _Content(entries, _audit_entries.validate_python(held.get(UNTOLD, [])))
        except FileNotFoundError:
            return _Content([], [])
        except (ValueError, TypeError, RuntimeError, NotRegularError):  # of pydantic too
            raise self._kind.refusal(self._kind.no_list.format(self._path)) from None

    def _write(self, entries: list[Entry], untold: list[AuditEntry]) -> None:
        held: dict[str, object] = {self._kind.key: self._entries.dump_python(entries, mode="json")}
        if untold:
            held[UNTOLD] = _audit_entries.dump_python(untold, mode="json")
        write_private(self._path, json.dumps(held, indent=1).encode())
