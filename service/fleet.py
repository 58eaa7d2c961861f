"""Runs of other machines, from the lake: queries on all records, and copies of some runs with a store's interface."""

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
from storage.queries import run_queries, sample_queries
from storage.queries.run_data import Queryable
from storage.store import Store

if TYPE_CHECKING:  # without a lake nothing of it is loaded
    from storage.lake.config import LakeConfig
    from storage.lake.copies import LakeRecords, RunCopies
    from storage.lake.lake_reader import LakeReader

MAX_COPIED_RUNS = 100  # beyond this the copies start over
FRESH_S = 300.0  # maximum age of copies of this store's own runs
Result = TypeVar("Result")


class _CopyState:
    """The copies and their source versions: a run of the lake is read again when new parts of it were shipped."""

    def __init__(self, definitions: pa.Table) -> None:
        from storage.lake.copies import RunCopies

        self.copies: RunCopies = RunCopies(definitions)
        self.records: object = None
        self.run_states: dict[str, object] = {}


class Fleet:
    """One connection to the lake, opened on first use and again after a failure; thread-safe."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._lock = threading.Lock()
        self._closing = ExitStack()
        self._reader: tuple[LakeConfig, LakeReader] | None = None
        self._records: LakeRecords | None = None
        self._copies: _CopyState | None = None

    @property
    def is_configured(self) -> bool:
        """Whether there is a lake.toml."""
        return self._settings.lake_path.exists()

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Run queries on the records of every run in the lake; raises LakeError."""
        return self._with_reader(self._renewed_records).query(sql, params)

    def runs_of(self, run_ids: Sequence[str]) -> list[Run]:
        """Return the runs with these ids, from here or the lake, in their order; raises LakeError."""
        runs_by_id = {run.id: run for run in self._store.runs_of(run_ids)}
        missing_ids = [run_id for run_id in run_ids if run_id not in runs_by_id]
        if missing_ids and self.is_configured:
            runs_by_id |= {run.id: run for run in run_queries.runs_of(self, missing_ids)}
        return [runs_by_id[run_id] for run_id in run_ids if run_id in runs_by_id]

    def queryable_for(self, run_ids: Sequence[str], with_earlier: bool = False) -> Queryable:
        """Return the store if it has all of these runs, else a copy of them; raises LakeError.

        with_earlier: include runs of the same setting, whose repeats show the spread of starts.
        """
        stored_ids = {run.id for run in self._store.runs_of(run_ids)}
        missing_ids = [run_id for run_id in run_ids if run_id not in stored_ids]
        if not missing_ids or not self.is_configured:
            return self._store
        return self._with_reader(lambda reader: self._update_copies(reader, run_ids, with_earlier))

    def _renewed_records(self, reader: LakeReader) -> LakeRecords:
        from storage.lake.copies import LakeRecords

        if self._records is None:
            self._records = LakeRecords(self._definitions())
        self._records.renew(reader)
        return self._records

    def _update_copies(self, reader: LakeReader, run_ids: Sequence[str], with_earlier: bool) -> RunCopies:
        """Update the copies: the row of every run, to find neighbours, and the samples of all requested runs."""
        records = self._renewed_records(reader)
        state = self._copies
        if state is None or len(state.run_states.keys() | set(run_ids)) > MAX_COPIED_RUNS:
            state = self._copies = _CopyState(self._definitions())
        period = int(time.monotonic() / FRESH_S)
        if state.records != (period, records.changes):
            state.copies.set_records([self._store.query, records.query])
            state.records = (period, records.changes)
        self._copy_samples(reader, state, run_ids, period)
        if with_earlier:
            runs = run_queries.runs_of(state.copies, run_ids)
            earlier_runs = run_queries.same_setting(state.copies, runs, MOST_EARLIER)
            self._copy_samples(reader, state, [run.id for run in earlier_runs], period)
        return state.copies

    def _copy_samples(self, reader: LakeReader, copy_state: _CopyState, run_ids: Sequence[str], period: int) -> None:
        """Copy the samples of lake runs with new parts, and those of this store's runs once per period."""
        stored_ids = [run.id for run in self._store.runs_of(run_ids)]
        run_states: dict[str, object] = dict.fromkeys(stored_ids, period)
        parts = reader.parts_of([run_id for run_id in run_ids if run_id not in run_states])
        run_states |= parts
        stale_ids = [run_id for run_id, state in run_states.items() if copy_state.run_states.get(run_id) != state]
        if not stale_ids:
            return
        lake_ids = [run_id for run_id in stale_ids if run_id in parts]
        tables = sorted({table for run_id in lake_ids for table in parts[run_id]})
        rows = chain(
            self._stored_samples([run_id for run_id in stale_ids if run_id in stored_ids]),
            reader.samples_of(lake_ids, tables),
        )
        copy_state.copies.set_samples(stale_ids, rows)
        copy_state.run_states |= {run_id: run_states[run_id] for run_id in stale_ids}

    def _stored_samples(self, run_ids: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        return sample_queries.samples_of(self._store, run_ids)

    def _definitions(self) -> pa.Table:
        return sample_queries.metric_definitions(self._store)

    def _with_reader(self, ask: Callable[[LakeReader], Result]) -> Result:
        """Run one query; a failed connection is closed, and the next query opens another."""
        from storage.lake.config import LakeError, required_config

        config = required_config(self._settings)
        with self._lock:
            try:
                return ask(self._open_reader(config))
            except LakeError:
                self._close()
                raise

    def _open_reader(self, config: LakeConfig) -> LakeReader:
        from storage.lake.lake_reader import opened_reader

        if self._reader is None or self._reader[0] != config:
            self._close()
            self._records = self._copies = None  # of another lake
            self._reader = config, self._closing.enter_context(opened_reader(config, self._definitions()))
        return self._reader[1]

    def _close(self) -> None:
        self._reader = None
        self._closing.close()

    def close(self) -> None:
        """Close the connection."""
        if self._lock.acquire(timeout=0.5):  # a reader at the end of the process keeps it
            try:
                self._close()
            finally:
                self._lock.release()
