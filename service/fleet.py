"""Other machines' runs, read from the lake: lists over all of them, and copies of some that answer like a store."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from domain import Run
from reports.arms.comparison import MOST_EARLIER
from settings import Settings
from storage.ask import run_queries
from storage.ask.queries import Asked
from storage.rows import TIME_COLUMNS
from storage.store import Store

if TYPE_CHECKING:  # without a lake nothing of it is loaded
    from storage.lake.config import LakeConfig
    from storage.lake.reading import LakeReader, RunCopies

MOST_COPIED = 100  # runs; more are begun anew
FRESH_S = 300.0  # so long copies are shown before they are read anew
Answer = TypeVar("Answer")


class Fleet:
    """One connection to the lake, opened on first use and again after a failure; thread-safe."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._lock = threading.Lock()
        self._closing = ExitStack()
        self._reader: tuple[LakeConfig, LakeReader] | None = None
        self._copies: tuple[float, RunCopies, set[str]] | None = None  # since when, and whose samples are in them

    @property
    def is_configured(self) -> bool:
        """Whether there is a lake.toml."""
        return self._settings.lake_path.exists()

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Answers `storage.ask`'s questions about every run in the lake; raises LakeError."""
        return self._with_reader(lambda reader: reader.query(sql, params))

    def runs_of(self, run_ids: Sequence[str]) -> list[Run]:
        """The runs that have these ids, here or in the lake, in their order; raises LakeError."""
        here = {run.id: run for run in self._store.runs_of(run_ids)}
        away = [run_id for run_id in run_ids if run_id not in here]
        if away and self.is_configured:
            here |= {run.id: run for run in run_queries.runs_of(self, away)}
        return [here[run_id] for run_id in run_ids if run_id in here]

    def asked_about(self, run_ids: Sequence[str], with_earlier: bool = False) -> Asked:
        """What answers about these runs: the store where it has them all, else a copy of them; raises LakeError.

        with_earlier: with the runs of the same setting, by whose repeats a comparison tells how much a start varies.
        """
        here = {run.id for run in self._store.runs_of(run_ids)}
        away = [run_id for run_id in run_ids if run_id not in here]
        if not away or not self.is_configured:
            return self._store
        return self._with_reader(lambda reader: self._copied(reader, run_ids, with_earlier))

    def _copied(self, reader: LakeReader, run_ids: Sequence[str], with_earlier: bool) -> RunCopies:
        """Every run's row, for who ran beside them, and the samples of those that were ever asked about."""
        copies, having = self._fresh_copies()
        if not set(run_ids) <= having:
            copies.add_records(self._store.query)
            copies.add_records(reader.query)
        self._add_samples(reader, copies, having, run_ids)
        if with_earlier:
            picked = run_queries.runs_of(copies, run_ids)
            alike = run_queries.same_setting(copies, picked, MOST_EARLIER)
            self._add_samples(reader, copies, having, [run.id for run in alike])
        return copies

    def _fresh_copies(self) -> tuple[RunCopies, set[str]]:
        """The copies and whose samples they have; made anew when they are old or many."""
        from storage.lake.reading import RunCopies

        kept = self._copies
        if kept is None or time.monotonic() - kept[0] > FRESH_S or len(kept[2]) > MOST_COPIED:
            kept = self._copies = (time.monotonic(), RunCopies(self._definitions()), set())
        return kept[1:]

    def _add_samples(self, reader: LakeReader, copies: RunCopies, having: set[str], run_ids: Sequence[str]) -> None:
        missing = [run_id for run_id in run_ids if run_id not in having]
        here = {run.id for run in self._store.runs_of(missing)}
        try:
            copies.add_samples(self._samples_here(sorted(here)))
            copies.add_samples(reader.samples_of([run_id for run_id in missing if run_id not in here]))
        except BaseException:
            self._copies = None  # a part of the rows may be there
            raise
        having.update(missing)

    def _samples_here(self, run_ids: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        for table in TIME_COLUMNS if run_ids else ():
            yield table, self._store.query(f"FROM {table}_of($run_ids)", {"run_ids": list(run_ids)})

    def _definitions(self) -> pa.Table:
        return self._store.query("FROM raw.metric_definitions")

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
        from storage.lake.reading import opened_reader

        if self._reader is None or self._reader[0] != config:
            self._close()
            self._reader = config, self._closing.enter_context(opened_reader(config, self._definitions()))
        return self._reader[1]

    def _close(self) -> None:
        self._reader = None
        self._closing.close()

    @contextmanager
    def closing(self) -> Iterator[Fleet]:
        """Close the connection at the end."""
        try:
            yield self
        finally:
            if self._lock.acquire(timeout=0.5):  # who still reads at the end of the process keeps it
                self._close()
                self._lock.release()
