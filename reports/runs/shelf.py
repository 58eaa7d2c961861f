"""What is known of runs that have ended, kept on the disk: read again as long as it would be computed the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from domain import Run
from storage.ask.known_queries import rows_stored
from storage.ask.queries import Asked

Known = TypeVar("Known")
SHOWN_BY = {"name", "color"}  # of a run, from which nothing follows
Basis = str  # a checksum of all that something was computed from


class Files(Protocol):
    """Where it lies; storage.files.known.KnownFiles is one."""

    def read(self, run_id: str, kind: str, basis: Basis) -> bytes | None:
        """What was kept; None where there is nothing, or nothing whole, that was computed from `basis`."""
        ...

    def write(self, run_id: str, kind: str, basis: Basis, content: bytes) -> None:
        """Keep it in place of what was kept before; where that fails nothing is kept, and nothing raised."""
        ...


@dataclass(frozen=True)
class Form(Generic[Known]):
    """How one kind of knowledge is written down; `unpack` raises ValueError for what `pack` did not write."""

    kind: str
    formulas: Callable[[], str]
    pack: Callable[[Known], bytes]
    unpack: Callable[[Run, bytes], Known]


class Shelf(Generic[Known]):
    """One kind of knowledge about runs that have ended, on the disk."""

    def __init__(self, files: Files, form: Form[Known]) -> None:
        self._files, self._form = files, form

    def bases(self, store: Asked, runs: Sequence[Run]) -> dict[str, Basis]:
        """What each run, by its id, would be computed from now: formulas, its own row, the rows stored of it."""
        stored = rows_stored(store, [run.id for run in runs])
        return {run.id: self._basis(run, stored[run.id]) for run in runs}

    def _basis(self, run: Run, stored: dict[str, int]) -> Basis:
        row = run.model_dump_json(exclude=SHOWN_BY)
        said = "\n".join([self._form.formulas(), row, json.dumps(stored, sort_keys=True)])
        return hashlib.sha256(said.encode()).hexdigest()

    def get(self, run: Run, basis: Basis) -> Known | None:
        """What was kept of the run; None where it would be computed otherwise now, or cannot be read any more."""
        content = self._files.read(run.id, self._form.kind, basis)
        if content is None:
            return None
        try:
            return self._form.unpack(run, content)
        except ValueError:
            return None

    def put(self, run: Run, basis: Basis, known: Known) -> None:
        """`basis` was asked for before it was computed: had rows come meanwhile, nobody would find it by theirs."""
        self._files.write(run.id, self._form.kind, basis, self._form.pack(known))
