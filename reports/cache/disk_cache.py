"""On-disk cache of results for ended runs, keyed by a checksum of everything that they are computed from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from domain import Run
from storage.queries.row_counts import stored_row_counts
from storage.queries.run_data import Queryable

ResultT = TypeVar("ResultT")
DISPLAY_FIELDS = {"name", "color"}  # of a run; no result depends on them
Basis = str  # checksum of all inputs of a result


class Files(Protocol):
    """Storage of encoded results, such as storage.files.report_files.ReportFiles."""

    def read(self, run_id: str, kind: str, basis: Basis) -> bytes | None:
        """Return the stored content; None if there is none for `basis`, or it is damaged."""
        ...

    def write(self, run_id: str, kind: str, basis: Basis, content: bytes) -> None:
        """Replace the stored content; on a failure nothing is stored and nothing is raised."""
        ...


@dataclass(frozen=True)
class Codec(Generic[ResultT]):
    """Encoding of one kind of result; `unpack` raises ValueError for content that `pack` did not write."""

    kind: str
    version: Callable[[], str]
    pack: Callable[[ResultT], bytes]
    unpack: Callable[[Run, bytes], ResultT]


class DiskCache(Generic[ResultT]):
    """Results of one kind for ended runs, on disk."""

    def __init__(self, files: Files, codec: Codec[ResultT]) -> None:
        self._files, self._codec = files, codec

    def read_bases(self, store: Queryable, runs: Sequence[Run]) -> dict[str, Basis]:
        """Return run id -> current checksum of the code version, the run's row and its stored row counts."""
        row_counts = stored_row_counts(store, [run.id for run in runs])
        return {run.id: self._basis(run, row_counts[run.id]) for run in runs}

    def _basis(self, run: Run, row_counts: dict[str, int]) -> Basis:
        row = run.model_dump_json(exclude=DISPLAY_FIELDS)
        text = "\n".join([self._codec.version(), row, json.dumps(row_counts, sort_keys=True)])
        return hashlib.sha256(text.encode()).hexdigest()

    def get(self, run: Run, basis: Basis) -> ResultT | None:
        """Return the stored result; None if it was computed from another basis or cannot be decoded."""
        content = self._files.read(run.id, self._codec.kind, basis)
        if content is None:
            return None
        try:
            return self._codec.unpack(run, content)
        except (ValueError, OverflowError):  # a damaged file may hold an integer of any size
            return None

    def put(self, run: Run, basis: Basis, result: ResultT) -> None:
        """Store a result. Read `basis` before computing: then rows that arrive meanwhile make the entry stale."""
        self._files.write(run.id, self._codec.kind, basis, self._codec.pack(result))
