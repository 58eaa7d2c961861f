"""The store: the single owner of everything Pitwall has recorded."""

from __future__ import annotations

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
from storage.ask import run_queries, study_queries
from storage.database import Database
from storage.files.deleted import RunBin
from storage.files.lost import LostFile, look_deeply, look_quickly, read_lost_files
from storage.files.publish import Publisher
from storage.files.seal import SealedDraft, Sealer
from storage.health import StoreHealth, health_of
from storage.lists.answers import SharedAnswers
from storage.lists.kept_lines import KeptLines
from storage.lists.live_runs import LiveRuns
from storage.opening import open_database
from storage.people import GotchaBook, NoteBook, ViewBook
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
from storage.writer import CommitCallback, Pending, Writer, replace_rows

NEVER_WAITS = frozenset({"events", "collector_health"})  # a few rows a minute, and how anybody learns of the trouble


class Definition(Protocol):
    """What a metric means under a definition id (engines.base.MetricDefinition has this shape)."""

    @property
    def definition(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def formula(self) -> str | None: ...
    @property
    def null_reason(self) -> str | None: ...


class Store:
    """Everything below the data folder; safe from any thread, opened by one process at a time."""

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
        self.answers = SharedAnswers(lambda: database.version)
        self._lines = KeptLines(self._writer.submit, self.query)
        self._live = LiveRuns(self.query)

    @classmethod
    def open(cls, settings: Settings, clock: Callable[[], datetime] = utc_now) -> Self:
        """Open or make the store in `settings.data_dir`.

        Raises StoreError when it is in use, newer, unreadable or cannot be written.
        """
        with ExitStack() as opened:
            store = cls(settings, opened.enter_context(closing(open_database(settings))), clock)
            store._start(opened)
            store._opened = opened.pop_all()
        return store

    def _start(self, opened: ExitStack) -> None:
        self._sealer.lost = read_lost_files(self.query)
        self._publisher.try_publish()
        self._writer.on_commit(self._publisher.changed)
        self._writer.on_commit(self._lines.committed)
        for part in (self._publisher, self._writer, self._sealer):  # the last commit is published too
            part.start()
            opened.callback(part.close)

    def close(self) -> None:
        """Commit what is queued, publish a last time and close the file; what fails is raised when all is closed."""
        self._opened.close()

    def publish(self) -> None:
        """Publish now; this happens automatically every 2 s when something changed."""
        self._publisher.publish()

    def seal(self) -> int:
        """Seal now what is due, as happens automatically twice a minute; returns the number of files written."""
        return self._sealer.seal_due()

    def purge(self) -> int:
        """Remove the runs that were deleted a day ago, as happens automatically; returns their number."""
        return self._sealer.purge_due()

    def merge(self) -> int:
        """Merge small sealed files of ended runs, as happens automatically while no run is live; returns the number."""
        return self._sealer.merge_due()

    def write(self, batch: Batch) -> Future[None]:
        """Queue samples and positions, which are committed together; the future is done when they are durable.

        Blocks while too much is queued (a full disk), except for batches of events and health only, so that stopping a
        server is never delayed. Raises at once on a value of a wrong type.
        """
        tables = tables_of([*batch.samples, *batch.positions])
        run_ids = frozenset(s.run_id for s in batch.samples if s.run_id is not None)
        is_bulk = not tables.keys() <= NEVER_WAITS
        is_sampling = self._live.only_sampled(tables.keys(), run_ids)
        tables |= self._lines.forgetting(run_ids)
        return self._writer.submit(Pending(tables, run_ids, is_bulk=is_bulk, is_sampling=is_sampling))

    def save_run(self, run: Run, timeout_s: float | None = None) -> None:
        """As `queue_runs`, durable when it returns; raises TimeoutError where that takes longer: it stays queued."""
        self.queue_runs([run]).result(timeout_s)

    def queue_runs(self, runs: Sequence[Run]) -> Future[None]:
        """Queue the states of different runs, committed together after all before; done when durable. Never blocks."""
        table = pa.concat_tables([run_table(self._live.noted(run)) for run in runs])
        return self._writer.submit(Pending({"runs": table}, frozenset(run.id for run in runs), urgent=True))

    def save_run_with(self, run: Run, batch: Batch) -> Future[None]:
        """Queue the state of a run and samples of it, committed together; raises at once on a value of a wrong type."""
        tables = {"runs": run_table(self._live.noted(run)), **tables_of([*batch.samples, *batch.positions])}
        return self._writer.submit(Pending(tables, frozenset([run.id]), is_bulk=True))

    def runs_of_source(self, sha256: str) -> list[str]:
        """The ids of the runs whose loads were imported from this file."""
        return run_queries.runs_of_source(self, sha256)

    def set_definitions(self, definitions: Iterable[Definition]) -> None:
        """Replace what the metrics mean under the given definition ids; shown by the view metric_definitions."""
        columns = ("definition", "metric", "formula", "null_reason")
        rows = [{name: getattr(row, name) for name in columns} for row in definitions]
        table = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in columns]))
        self._writer.submit(Pending({"metric_definitions": table}, frozenset(), urgent=True)).result()

    def save_share(self, share: Share) -> None:
        """Store a share as it now stands; durable when it returns."""
        self._writer.submit(Pending({"shares": share_table(share)}, frozenset(), urgent=True)).result()

    def save_study(self, study: Study) -> None:
        """Store a study as it now stands; durable when it returns."""
        self._writer.submit(Pending({"studies": study_table(study)}, frozenset(), urgent=True)).result()

    def keep_run_lines(self, lines: Iterable[tuple[Run, RunLine]], formulas: str, asked_s: float) -> None:
        """Keep what these formulas say of runs, by the rows that were there at `asked_s` of the monotonic clock."""
        self._lines.keep(lines, formulas, asked_s)

    def save_machine(self, machine: Machine) -> Future[None]:
        """Queue what a machine now is; the future is done when it is durable."""
        return self._writer.submit(Pending({"machines": machine_table(machine)}, frozenset()))

    def label_machine(self, machine_id: str, label: str | None) -> None:
        """Set or remove a machine's label; durable when it returns."""
        table = label_table(machine_id, label, self._clock())
        self._writer.submit(Pending({"machine_labels": table}, frozenset(), urgent=True)).result()

    def studies(self) -> list[Study]:
        """All studies, the newest first."""
        return study_queries.studies(self)

    def adopt(self, point: AdoptedPoint, entries: Iterable[AuditEntry]) -> None:
        """Add an operating point, with what the audit says of it, in one transaction; durable when it returns."""
        tables = {"adopted": adopted_table(point), "audit": audit_table(entries)}
        self._writer.submit(Pending(tables, frozenset(), urgent=True)).result()

    def adopted(self) -> list[AdoptedPoint]:
        """All that were ever adopted, the newest first."""
        rows = self.query("SELECT * FROM raw.adopted ORDER BY adopted_at DESC, id DESC").to_pylist()
        return [adopted_of(row) for row in rows]

    def shares(self) -> list[Share]:
        """All shares that were ever made, the newest first."""
        rows = self.query("SELECT * FROM raw.shares ORDER BY created_at DESC, id").to_pylist()
        return [share_of(row) for row in rows]

    def audit(self, newest: int) -> list[AuditEntry]:
        """The newest audit entries, the newest first."""
        rows = self.query("SELECT * FROM raw.audit ORDER BY ts DESC LIMIT ?", [newest]).to_pylist()
        return [AuditEntry(**row) for row in rows]

    def record(self, entries: Iterable[AuditEntry]) -> Future[None]:
        """Queue what somebody did for the audit; the future is done when it is durable."""
        return self._writer.submit(Pending({"audit": audit_table(entries)}, frozenset()))

    def take_sealed(
        self,
        runs: Sequence[Run],
        drafts: Sequence[SealedDraft],
        notes: Sequence[RunNote] = (),
        gotchas: Sequence[Gotcha] = (),
    ) -> None:
        """Take another Pitwall's runs with what people say; the samples lie in Parquet files, which are moved."""
        if not runs:
            return
        with self._sealer.held_off(), self._database.transaction() as cursor:
            self._sealer.take(cursor, drafts)
            for run in runs:
                replace_rows(cursor, "runs", run_table(run))
                cursor.execute("INSERT INTO raw.foreign_runs VALUES (?, ?)", [run.id, self._clock()])
            replace_rows(cursor, "run_notes", note_table(notes))
            replace_rows(cursor, "gotchas", gotcha_table(gotchas))
        touched = frozenset(run.id for run in runs)
        self._lines.committed(touched)
        self._publisher.changed(touched)

    def run(self, run_id: str) -> Run | None:
        """The run of this id as it was committed last; None where no run has it."""
        return next(iter(self._runs("WHERE id = ?", [run_id])), None)

    def runs_of(self, run_ids: Sequence[str]) -> list[Run]:
        """The runs that have these ids, in their order."""
        return run_queries.runs_of(self, run_ids)

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> list[Run]:
        """Runs, the newest first; all of them unless states or a limit are given."""
        where, params = ("", []) if states is None else ("WHERE list_contains(?, state)", [[str(s) for s in states]])
        return self._runs(f"{where} ORDER BY id DESC LIMIT ?", [*params, limit])

    def runs_of_batch(self, batch_id: str) -> list[Run]:
        """The runs that were launched together, in the order of their making."""
        return run_queries.runs_of_batch(self, batch_id)

    def names_like(self, names: Collection[str]) -> list[str]:
        """The names of runs that are one of these or numbered on from it."""
        return run_queries.names_like(self, names)

    def log_paths(self) -> dict[str, str]:
        """Where the logs of runs are, by the run, the newest first."""
        return run_queries.log_paths(self)

    def _runs(self, clause: str, params: Sequence[Any]) -> list[Run]:
        return [run_of(record) for record in self.query(f"SELECT * FROM raw.runs {clause}", params).to_pylist()]

    def tail_position(self, run_id: str, path: str) -> TailPosition | None:
        """How far a file had been taken in when its last samples were committed."""
        sql = "SELECT * FROM raw.tail_positions WHERE run_id = ? AND path = ?"
        return next((TailPosition(**row) for row in self.query(sql, [run_id, path]).to_pylist()), None)

    def agent_position(self, run_id: str, agent_id: str) -> AgentPosition | None:
        """How far what an agent sends was taken in when its last samples were committed."""
        sql = "SELECT * FROM raw.agents WHERE run_id = ? AND agent_id = ?"
        return next((AgentPosition(**row) for row in self.query(sql, [run_id, agent_id]).to_pylist()), None)

    def count_agents(self, run_id: str) -> int:
        """How many agents have sent samples of a run."""
        return int(self.query("SELECT count(*) AS n FROM raw.agents WHERE run_id = ?", [run_id])["n"][0].as_py())

    def query(self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> pa.Table:
        """The rows a statement gives, on a cursor of its own; times come in UTC. Raises duckdb.Error."""
        lost = self._sealer.lost
        try:
            return self._query(sql, params)
        except duckdb.Error as failure:
            # A sealed file may have gone since the start, or be broken inside: without it the rest can be read.
            self._sealer.look_after(failure)
            if self._sealer.lost == lost:
                raise
        return self._query(sql, params)

    def _query(self, sql: str, params: Sequence[Any] | Mapping[str, Any] | None) -> pa.Table:
        with self._database.cursor() as cursor:
            return cursor.execute(sql, params).to_arrow_table()

    def look_for_lost_files(self, deeply: bool = False) -> list[LostFile]:
        """Look at every sealed file, leave out those that are missing or broken, and give them by run."""
        self._sealer.note_lost(look_deeply if deeply else look_quickly)
        return self._sealer.lost

    def on_commit(self, callback: CommitCallback) -> None:
        """Call back after each commit with the ids of the runs it touched; on the writer's thread, so be quick."""
        self._writer.on_commit(callback)

    def health(self) -> StoreHealth:
        """Whether rows are stored and published, what failed last, and how long what waits has waited."""
        return health_of(self._writer, self._publisher, self._sealer)
