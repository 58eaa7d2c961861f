"""Other machines' runs, read from the lake: lists over all of them, and copies of some that answer like a store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from domain import Run
from reports.arms.comparison import MOST_EARLIER
from settings import Settings
from storage.ask import run_queries, sample_queries
from storage.ask.queries import Asked
from storage.store import Store

if TYPE_CHECKING:  # without a lake nothing of it is loaded
    from storage.lake.config import LakeConfig
    from storage.lake.copies import LakeRecords, RunCopies
    from storage.lake.lake_reader import LakeReader

MOST_COPIED = 100  # runs; more are begun anew
FRESH_S = 300.0  # so long copies of this store's own runs are shown before they are read anew
Answer = TypeVar("Answer")


class _Copied:
    """Copies, and what they were made of: a run of the lake is read anew when other parts of it were shipped."""

    def __init__(self, definitions: pa.Table) -> None:
        from storage.lake.copies import RunCopies

        self.copies: RunCopies = RunCopies(definitions)
        self.records: object = None
        self.having: dict[str, object] = {}


class Fleet:
    """One connection to the lake, opened on first use and again after a failure; thread-safe."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._lock = threading.Lock()
        self._closing = ExitStack()
        self._reader: tuple[LakeConfig, LakeReader] | None = None
        self._records: LakeRecords | None = None
        self._copies: _Copied | None = None

    @property
    def is_configured(self) -> bool:
        """Whether there is a lake.toml."""
        return self._settings.lake_path.exists()

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Answers `storage.ask`'s questions about the records of every run in the lake; raises LakeError."""
        return self._with_reader(self._renewed_records).query(sql, params)

    def runs_of(self, run_ids: Sequence[str]) -> list[Run]:
        """The runs that have these ids, here or in the lake, in their order; raises LakeError."""
        here = {run.id: run for run in self._store.runs_of(run_ids)}
        away = [run_id for run_id in run_ids if run_id not in here]
        if away and self.is_configured:
            here |= {run.id: run for run in run_queries.runs_of(self, away)}
        return [here[run_id] for run_id in run_ids if run_id in here]

    def asked_about(self, run_ids: Sequence[str], with_earlier: bool = False) -> Asked:
        """What answers about these runs: the store where it has them all, else a copy of them; raises LakeError.

        with_earlier: with the runs of the same setting, by whose repeats a comparison knows how much a start varies.
        """
        here = {run.id for run in self._store.runs_of(run_ids)}
        away = [run_id for run_id in run_ids if run_id not in here]
        if not away or not self.is_configured:
            return self._store
        return self._with_reader(lambda reader: self._copied(reader, run_ids, with_earlier))

    def _renewed_records(self, reader: LakeReader) -> LakeRecords:
        from storage.lake.copies import LakeRecords

        if self._records is None:
            self._records = LakeRecords(self._definitions())
        self._records.renew(reader)
        return self._records

    def _copied(self, reader: LakeReader, run_ids: Sequence[str], with_earlier: bool) -> RunCopies:
        """Every run's row, for who ran beside them, and the samples of those that were ever asked about."""
        records = self._renewed_records(reader)
        copied = self._copies
        if copied is None or len(copied.having.keys() | set(run_ids)) > MOST_COPIED:
            copied = self._copies = _Copied(self._definitions())
        of_now = int(time.monotonic() / FRESH_S)
        if copied.records != (of_now, records.changes):
            copied.copies.take_records([self._store.query, records.query])
            copied.records = (of_now, records.changes)
        self._take_samples(reader, copied, run_ids, of_now)
        if with_earlier:
            picked = run_queries.runs_of(copied.copies, run_ids)
            alike = run_queries.same_setting(copied.copies, picked, MOST_EARLIER)
            self._take_samples(reader, copied, [run.id for run in alike], of_now)
        return copied.copies

    def _take_samples(self, reader: LakeReader, copied: _Copied, run_ids: Sequence[str], of_now: int) -> None:
        """Copy the samples of the lake's runs that got new parts, and those of this store's runs once in a while."""
        own = [run.id for run in self._store.runs_of(run_ids)]
        now: dict[str, object] = dict.fromkeys(own, of_now)
        parts = reader.parts_of([run_id for run_id in run_ids if run_id not in now])
        now |= parts
        fresh = [run_id for run_id, state in now.items() if copied.having.get(run_id) != state]
        if not fresh:
            return
        away = [run_id for run_id in fresh if run_id in parts]
        tables = sorted({table for run_id in away for table in parts[run_id]})
        rows = chain(self._samples_here([one for one in fresh if one in own]), reader.samples_of(away, tables))
        copied.copies.take_samples(fresh, rows)
        copied.having |= {run_id: now[run_id] for run_id in fresh}

    def _samples_here(self, run_ids: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        return sample_queries.samples_of(self._store, run_ids)

    def _definitions(self) -> pa.Table:
        return sample_queries.metric_definitions(self._store)

    def _with_reader(self, ask: Callable[[LakeReader], Answer]) -> Answer:
        """One answer; a connection that fails is given up, and the next question opens another."""
        from storage.lake.config import LakeError, needed_config

        config = needed_config(self._settings)
        with self._lock:
            try:
                return ask(self._opened(config))
            except LakeError:
                self._close()
                raise

    def _opened(self, config: LakeConfig) -> LakeReader:
        from storage.lake.lake_reader import opened_reader

        if self._reader is None or self._reader[0] != config:
            self._close()
            self._records = self._copies = None  # another lake's
            self._reader = config, self._closing.enter_context(opened_reader(config, self._definitions()))
        return self._reader[1]

    def _close(self) -> None:
        self._reader = None
        self._closing.close()

    def close(self) -> None:
        """Close the connection."""
        if self._lock.acquire(timeout=0.5):  # who still reads at the end of the process keeps it
            try:
                self._close()
            finally:
                self._lock.release()
