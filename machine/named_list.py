"""Entries by name in one private file of JSON, read at each use: a shell may change it meanwhile."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from errors import PitwallError
from machine.private_files import write_private
from machine.shared_file import locked

Entry = TypeVar("Entry", bound=BaseModel)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kind(Generic[Entry]):
    """What such a file holds, and how a person is told of it."""

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
        self._content: TypeAdapter[dict[str, list[Entry]]] = TypeAdapter(dict[str, list[kind.entry]])  # type: ignore[name-defined]

    def all(self) -> list[Entry]:
        """In the order in which they were kept; none where the file is none, which is logged."""
        try:
            return self._read()
        except (OSError, self._kind.refusal) as error:
            _log.warning("%s: %s", self._kind.none_known, error)
            return []

    def keep(self, entry: Entry) -> None:
        """Keep an entry, in place of one of its name. Raises the kind's refusal, OSError."""
        with locked(self._path):
            others = [one for one in self._read() if self._name(one) != self._name(entry)]
            if len(others) >= self._kind.most:
                raise self._kind.refusal(self._kind.too_many.format(self._kind.most))
            self._write([*others, entry])

    def drop(self, name: str, missing: str) -> Entry:
        """Keep it no longer. Raises the kind's refusal, with `missing`, for a name that none has; OSError."""
        with locked(self._path):
            entries = self._read()
            gone = next((one for one in entries if self._name(one) == name), None)
            if gone is None:
                raise self._kind.refusal(missing)
            self._write([one for one in entries if one is not gone])
        return gone

    def _name(self, entry: Entry) -> str:
        return str(getattr(entry, self._kind.name))

    def _read(self) -> list[Entry]:
        try:
            return self._content.validate_json(self._path.read_bytes()).get(self._kind.key, [])
        except FileNotFoundError:
            return []
        except ValidationError:
            raise self._kind.refusal(self._kind.no_list.format(self._path)) from None

    def _write(self, entries: list[Entry]) -> None:
        write_private(self._path, self._content.dump_json({self._kind.key: entries}, indent=1))
