"""The store: the single owner of all recorded data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from datetime import datetime
from typing import Any, Protocol, Self

import duckdb
import pyarrow as pa

from analysis.runs.run_line import RunLine
from domain import AdoptedPoint, AuditEntry, Machine, Run, RunState, Share, Study, utc_now
from notes import Gotcha, RunNote
from samples import AgentPosition, Batch, TailPosition
from settings import Settings
from storage.caches.live_run_ids import LiveRunIds
from storage.caches.query_cache import QueryCache
from storage.caches.run_lines import RunLineCache
from storage.database import Database
from storage.files.deletions import RunBin
from storage.files.lost_files import LostFile, check_content, check_ends, read_lost_files
from storage.files.publish import Publisher
from storage.files.seal import SealedDraft, Sealer
from storage.health import StoreHealth, health_of
from storage.opening import open_database
from storage.people import GotchaBook, NoteBook, ViewBook
from storage.queries import run_queries, study_queries
from storage.records import (
    adopted_of,
    adopted_table,
    audit_table,
    gotcha_table,
    label_table,
    machine_table,
    note_table,
    share_of,
    share_table,
    study_table,
)
from storage.rows import run_of, run_table, tables_of
from storage.whole_results import query_whole
from storage.writer import CommitCallback, PendingWrite, Writer, replace_rows

NEVER_WAITS = frozenset({"events", "collector_health"})  # a few rows per minute, and they report the problem


class Definition(Protocol):
    """The meaning of a metric under a definition id (implemented by engines.base.MetricDefinition)."""

    @property
    def definition(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def formula(self) -> str | None: ...
    @property
    def null_reason(self) -> str | None: ...


class Store:
    """All data below the data folder; thread-safe, opened by one process at a time."""

    def __init__(self, settings: Settings, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._opened = ExitStack()
        self._clock = clock
        self._writer = Writer(database)
        self.notes = NoteBook(self, self._writer, clock)
        self.gotchas = GotchaBook(self, self._writer, clock)
        self.saved_views = ViewBook(self, self._writer, clock)
        self._publisher = Publisher(settings, database)
        self.bin = RunBin(settings, database, self, clock, self._publisher.changed)
        self._sealer = Sealer(settings, database, clock, self._publisher.changed, self.bin)
        self.query_cache = QueryCache(lambda: database.version)
        self._run_lines = RunLineCache(self._writer.submit, self.query)
        self._live_ids = LiveRunIds(self.query)
        self.adding_runs = threading.Lock()  # two imports of the same bundle at once add its runs once

    @classmethod
    def open(cls, settings: Settings, clock: Callable[[], datetime] = utc_now) -> Self:
        """Open or create the store in `settings.data_dir`.

        Raises StoreError if it is in use, newer than this version, unreadable or read-only.
        """
        with ExitStack() as opened:
            store = cls(settings, opened.enter_context(closing(open_database(settings))), clock)
            store._start(opened)
            store._opened = opened.pop_all()
        return store

    def _start(self, opened: ExitStack) -> None:
        self._sealer.lost_files = read_lost_files(self.query)
        self._publisher.try_publish()
        self._writer.on_commit(self._publisher.changed)
        self._writer.on_commit(self._run_lines.on_committed)
        for service in (
            self._publisher,
            self._writer,
            self._sealer,
        ):  # closed in reverse, so the last commit is published
            service.start()
            opened.callback(service.close)

    def close(self) -> None:
        """Commit queued rows, publish once more and close the file; errors are raised after everything is closed."""
        self._opened.close()

    def publish(self) -> None:
        """Publish now; happens automatically at most every 2 s after changes."""
        self._publisher.publish()

    def seal(self) -> int:
        """Seal due rows now, as happens automatically twice a minute; returns the number of files written."""
        return self._sealer.seal_due()

    def purge(self) -> int:
        """Remove runs deleted more than a day ago, as happens automatically; returns their number."""
        return self._sealer.purge_due()

    def merge(self) -> int:
        """Merge small sealed files of ended runs, as happens automatically while no run is live; returns a count."""
        return self._sealer.merge_due()

    def write(self, batch: Batch) -> Future[None]:
        """Queue samples and positions for one commit; the future is done when they are durable.

        Blocks while too many rows are queued (as with a full disk), except for batches with only events and health, so
        that stopping a server is never delayed. Raises at once on a value of the wrong type.
        """
        tables = tables_of([*batch.samples, *batch.positions])
        run_ids = frozenset(s.run_id for s in batch.samples if s.run_id is not None)
        is_bulk = not tables.keys() <= NEVER_WAITS
        is_sampling = self._live_ids.is_sampling_only(tables.keys(), run_ids)
        tables |= self._run_lines.invalidate(run_ids)
        return self._writer.submit(PendingWrite(tables, run_ids, is_bulk=is_bulk, is_sampling=is_sampling))

    def save_run(self, run: Run, timeout_s: float | None = None) -> None:
        """As `queue_runs`, but durable on return; raises TimeoutError if it takes longer, and the run stays queued."""
        self.queue_runs([run]).result(timeout_s)

    def queue_runs(self, runs: Sequence[Run]) -> Future[None]:
        """Queue the states of different runs for one commit, after all earlier rows; never blocks."""
        table = pa.concat_tables([run_table(self._live_ids.track(run)) for run in runs])
        return self._writer.submit(PendingWrite({"runs": table}, frozenset(run.id for run in runs), is_urgent=True))

    def save_run_with(self, run: Run, batch: Batch) -> Future[None]:
        """Queue a run's state and samples for one commit; raises at once on a value of the wrong type."""
        tables = {"runs": run_table(self._live_ids.track(run)), **tables_of([*batch.samples, *batch.positions])}
        return self._writer.submit(PendingWrite(tables, frozenset([run.id]), is_bulk=True))

    def runs_of_source(self, sha256: str) -> list[str]:
        """Return the ids of the runs whose loads were imported from this file."""
        return run_queries.runs_of_source(self, sha256)

    def set_definitions(self, definitions: Iterable[Definition]) -> None:
        """Replace the meanings of metrics under these definition ids; shown in the view metric_definitions."""
        columns = ("definition", "metric", "formula", "null_reason")
        rows = [{name: getattr(row, name) for name in columns} for row in definitions]
        table = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in columns]))
        self._writer.submit(PendingWrite({"metric_definitions": table}, frozenset(), is_urgent=True)).result()

    def save_share(self, share: Share) -> None:
        """Store the current state of a share; durable on return."""
        self._writer.submit(PendingWrite({"shares": share_table(share)}, frozenset(), is_urgent=True)).result()

    def save_study(self, study: Study) -> None:
        """Store the current state of a study; durable on return."""
        self._writer.submit(PendingWrite({"studies": study_table(study)}, frozenset(), is_urgent=True)).result()

    def cache_run_lines(self, lines: Iterable[tuple[Run, RunLine]], formulas: str, read_s: float) -> None:
        """Cache run lines computed by these formulas from the rows present at `read_s` (monotonic clock)."""
        self._run_lines.add(lines, formulas, read_s)

    def save_machine(self, machine: Machine) -> Future[None]:
        """Queue the current state of a machine; the future is done when it is durable."""
        return self._writer.submit(PendingWrite({"machines": machine_table(machine)}, frozenset()))

    def label_machine(self, machine_id: str, label: str | None) -> None:
        """Set or remove a machine's label; durable on return."""
        table = label_table(machine_id, label, self._clock())
        self._writer.submit(PendingWrite({"machine_labels": table}, frozenset(), is_urgent=True)).result()

    def studies(self) -> list[Study]:
        """Return all studies, newest first."""
        return study_queries.studies(self)

    def adopt(self, point: AdoptedPoint, entries: Iterable[AuditEntry]) -> None:
        """Add an operating point and its audit entries in one transaction; durable on return."""
        tables = {"adopted": adopted_table(point), "audit": audit_table(entries)}
        self._writer.submit(PendingWrite(tables, frozenset(), is_urgent=True)).result()

    def adopted(self) -> list[AdoptedPoint]:
        """Return all points ever adopted, newest first."""
        rows = self.query("SELECT * FROM raw.adopted ORDER BY adopted_at DESC, id DESC").to_pylist()
        return [adopted_of(row) for row in rows]

    def shares(self) -> list[Share]:
        """Return all shares ever created, newest first."""
        rows = self.query("SELECT * FROM raw.shares ORDER BY created_at DESC, id").to_pylist()
        return [share_of(row) for row in rows]

    def audit(self, newest: int) -> list[AuditEntry]:
        """Return the newest audit entries, newest first."""
        rows = self.query("SELECT * FROM raw.audit ORDER BY ts DESC LIMIT ?", [newest]).to_pylist()
        return [AuditEntry(**row) for row in rows]

    def record(self, entries: Iterable[AuditEntry]) -> Future[None]:
        """Queue audit entries; the future is done when they are durable."""
        return self._writer.submit(PendingWrite({"audit": audit_table(entries)}, frozenset()))

    def adopt_runs(
        self,
        runs: Sequence[Run],
        drafts: Sequence[SealedDraft],
        notes: Sequence[RunNote] = (),
        gotchas: Sequence[Gotcha] = (),
    ) -> None:
        """Add runs of another Pitwall with their notes and gotchas; the Parquet files with the samples are moved."""
        if not runs:
            return
        with self._sealer.paused(), self._database.transaction() as cursor:
            self._sealer.add_drafts(cursor, drafts)
            for run in runs:
                replace_rows(cursor, "runs", run_table(run))
                cursor.execute("INSERT INTO raw.foreign_runs VALUES (?, ?)", [run.id, self._clock()])
            replace_rows(cursor, "run_notes", note_table(notes))
            replace_rows(cursor, "gotchas", gotcha_table(gotchas))
        run_ids = frozenset(run.id for run in runs)
        self._run_lines.on_committed(run_ids)
        self._publisher.changed(run_ids)

    def run(self, run_id: str) -> Run | None:
        """Return the last committed state of the run with this id, or None."""
        return next(iter(self._runs("WHERE id = ?", [run_id])), None)

    def runs_of(self, run_ids: Sequence[str]) -> list[Run]:
        """Return the runs with these ids, in their order."""
        return run_queries.runs_of(self, run_ids)

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> list[Run]:
        """Return runs, newest first; all of them without states or a limit."""
        where, params = ("", []) if states is None else ("WHERE list_contains(?, state)", [[str(s) for s in states]])
        return self._runs(f"{where} ORDER BY id DESC LIMIT ?", [*params, limit])

    def runs_of_batch(self, batch_id: str) -> list[Run]:
        """Return the runs launched together, in the order of their creation."""
        return run_queries.runs_of_batch(self, batch_id)

    def names_like(self, names: Collection[str]) -> list[str]:
        """Return the names of runs that equal one of these or extend it by a number."""
        return run_queries.names_like(self, names)

    def log_paths(self) -> dict[str, str]:
        """Return the log path of each run by its id, newest first."""
        return run_queries.log_paths(self)

    def _runs(self, clause: str, params: Sequence[Any]) -> list[Run]:
        return [run_of(record) for record in self.query(f"SELECT * FROM raw.runs {clause}", params).to_pylist()]

    def tail_position(self, run_id: str, path: str) -> TailPosition | None:
        """Return the position in a file as of the last committed samples."""
        sql = "SELECT * FROM raw.tail_positions WHERE run_id = ? AND path = ?"
        return next((TailPosition(**row) for row in self.query(sql, [run_id, path]).to_pylist()), None)

    def agent_position(self, run_id: str, agent_id: str) -> AgentPosition | None:
        """Return the position in an agent's data as of the last committed samples."""
        sql = "SELECT * FROM raw.agents WHERE run_id = ? AND agent_id = ?"
        return next((AgentPosition(**row) for row in self.query(sql, [run_id, agent_id]).to_pylist()), None)

    def count_agents(self, run_id: str) -> int:
        """Return the number of agents that have sent samples of a run."""
        return int(self.query("SELECT count(*) AS n FROM raw.agents WHERE run_id = ?", [run_id])["n"][0].as_py())

    def query(self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> pa.Table:
        """Return the rows of a statement; times are in UTC. Raises duckdb.Error."""
        lost_before = self._sealer.lost_files
        try:
            return self._query(sql, params)
        except duckdb.Error as failure:
            # A sealed file may be missing or damaged since the start; without it the rest can be read.
            self._sealer.handle_read_failure(failure)
            if self._sealer.lost_files == lost_before:
                raise
        return self._query(sql, params)

    def _query(self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None) -> pa.Table:
        with self._database.cursor() as cursor:
            return query_whole(cursor, sql, params)

    def look_for_lost_files(self, deeply: bool = False) -> list[LostFile]:
        """Check every sealed file, leave out missing or damaged ones, and return them by run."""
        self._sealer.record_lost(check_content if deeply else check_ends)
        return self._sealer.lost_files

    def on_commit(self, callback: CommitCallback) -> None:
        """Register a callback for each commit, with the ids of its runs; runs on the writer's thread, so be quick."""
        self._writer.on_commit(callback)

    def health(self) -> StoreHealth:
        """Return whether rows are stored and published, the last failure, and the age of waiting rows."""
        return health_of(self._writer, self._publisher, self._sealer)
