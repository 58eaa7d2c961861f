"""Runs deleted by a person or by the retention rule: hidden at once, restorable for a day, then removed.

A deleted run moves from `raw.runs`, where pages and queries find it, to `raw.deleted_runs`. After a day one transaction
removes its rows and file records, then its folder is deleted, then its record. An interrupted removal continues at the
next check. The audit keeps a tombstone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import duckdb

from domain import AuditEntry, Run
from machine.folder_removal import remove_tree
from settings import Settings
from storage.catalog import name_sealed_files
from storage.database import Database, StoreError
from storage.files.merge import start_grace_period
from storage.files.remove_run import remove_sealed_rows
from storage.queries.run_data import Queryable
from storage.queries.statements import statement
from storage.records import audit_table
from storage.rows import TIME_COLUMNS, run_of, run_table
from storage.writer import append_rows, replace_rows

RESTORE_PERIOD = timedelta(days=1)
BY_RULE = "retention rule"
LIVE = "it has not ended"
NO_SUCH_RUN = "there is no such run"
RUN_TABLES = (
    "tail_positions",
    "agents",
    "run_notes",
    "run_reports",
    "foreign_runs",
)  # other tables with rows of a run
_RESTORABLE = "SELECT run_id, deleted_at, role, record FROM raw.deleted_runs WHERE purged_at IS NULL"
_HIDE = """
    INSERT INTO raw.deleted_runs BY NAME
    SELECT id AS run_id, $now AS deleted_at, $role AS role, $record AS record FROM raw.runs WHERE id = $run_id
"""


class DeletedRun(NamedTuple):
    """A deleted run that can be restored until `goes_at`."""

    run: Run
    deleted_at: datetime
    role: str
    goes_at: datetime


class RunBin:
    """The deleted runs of a store; thread-safe. `on_change` is called after each change."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        store: Queryable,
        clock: Callable[[], datetime],
        on_change: Callable[[], None],
    ) -> None:
        self._parquet_dir = settings.parquet_dir.absolute()
        self._runs_dir = settings.runs_dir
        self._database = database
        self._store = store
        self._clock = clock
        self._on_change = on_change

    def blocking_reasons(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Return why runs cannot be deleted, as text by run id; runs that can be deleted are not included."""
        rows = self._store.query("SELECT id, state FROM raw.runs WHERE list_contains($ids, id)", {"ids": list(run_ids)})
        states = {row["id"]: row["state"] for row in rows.to_pylist()}
        live = {run_id: LIVE for run_id, state in states.items() if state not in ("finished", "failed")}
        params = {"run_ids": list(run_ids), "now": self._clock()}
        references = self._store.query(statement("references"), params).to_pylist()
        unknown = {run_id: NO_SUCH_RUN for run_id in run_ids if run_id not in states}
        return unknown | {row["run_id"]: f"{row['what']} refers to it" for row in references} | live

    def delete(self, run_ids: Sequence[str], role: str) -> dict[str, str]:
        """Hide these runs, durably on return; return the reasons for those not deleted.

        Raises duckdb.Error, StoreError.
        """
        blocked = self.blocking_reasons(run_ids)
        now = self._clock()
        with self._database.transaction() as cursor:
            for run_id in dict.fromkeys(run_ids):
                if run_id not in blocked:
                    _hide(cursor, run_id, role, now)
        self._on_change()
        return blocked

    def restorable(self) -> list[DeletedRun]:
        """Return the runs that can be restored, newest deletion first."""
        rows = self._store.query(f"{_RESTORABLE} ORDER BY deleted_at DESC, run_id").to_pylist()
        runs = [(Run.model_validate_json(row["record"]), row) for row in rows]
        return [
            DeletedRun(run, row["deleted_at"], row["role"], row["deleted_at"] + RESTORE_PERIOD) for run, row in runs
        ]

    def holds(self, run_id: str) -> bool:
        """Whether a run is deleted but not completely removed."""
        rows = self._store.query("SELECT run_id FROM raw.deleted_runs WHERE run_id = $id", {"id": run_id})
        return bool(rows["run_id"].to_pylist())

    def restore(self, run_ids: Sequence[str], role: str) -> int:
        """Restore these runs; return how many were still restorable. Raises duckdb.Error if one is being removed."""
        deleted_runs = [deleted for deleted in self.restorable() if deleted.run.id in run_ids]
        with self._database.transaction() as cursor:
            for deleted in deleted_runs:
                cursor.execute("DELETE FROM raw.deleted_runs WHERE run_id = ?", [deleted.run.id])
                replace_rows(cursor, "runs", run_table(deleted.run))
                _audit(cursor, AuditEntry(self._clock(), role, "bring back", deleted.run.id, deleted.run.name))
        self._on_change()
        return len(deleted_runs)

    def keep_days(self) -> int | None:
        """Return after how many days an ended run is deleted; None: never."""
        rows = self._store.query("SELECT keep_days FROM raw.retention ORDER BY set_at DESC, rowid DESC LIMIT 1")[
            "keep_days"
        ]
        days: int | None = rows[0].as_py() if len(rows) else None
        return days

    def set_keep_days(self, days: int | None, role: str) -> None:
        """Set or remove the retention rule. Raises ValueError below one day."""
        if days is not None and days < 1:
            raise ValueError("Runs are kept for at least one day.")
        now, rule = self._clock(), f"after {days} days" if days else "never by a rule"
        with self._database.transaction() as cursor:
            cursor.execute("INSERT INTO raw.retention VALUES (?, ?, ?)", [now, role, days])
            _audit(cursor, AuditEntry(now, role, "retention", None, f"runs are deleted {rule}"))
        self._on_change()

    def outdated(self, days: int) -> dict[str, str]:
        """Return id and name of the runs that a rule of so many days would delete now, oldest first."""
        params = {"until": self._clock() - timedelta(days=days), "now": self._clock()}
        return {row["run_id"]: row["name"] for row in self._store.query(statement("outdated"), params).to_pylist()}

    def apply_rule(self) -> int:
        """Delete the runs selected by the rule; return their number."""
        days = self.keep_days()
        due = list(self.outdated(days)) if days else []
        return len(due) - len(self.delete(due, BY_RULE)) if due else 0

    def purge_due(self) -> int:
        """Remove runs deleted more than a day ago; return their number. The caller must pause sealing."""
        with self._database.cursor() as cursor:
            sql = "SELECT run_id FROM raw.deleted_runs WHERE deleted_at <= ? AND purged_at IS NULL"
            due = [run_id for (run_id,) in cursor.execute(sql, [self._clock() - RESTORE_PERIOD]).fetchall()]
        for run_id in due:
            self._purge(run_id)
        with self._database.cursor() as cursor:
            sql = "SELECT run_id, record FROM raw.deleted_runs WHERE purged_at IS NOT NULL"
            purged: Mapping[str, str] = dict(cursor.execute(sql).fetchall())
        for run_id, record in purged.items():
            self._finish(run_id, Run.model_validate_json(record).name)
        if purged:
            self._on_change()
        return len(purged)

    def _purge(self, run_id: str) -> None:
        """Remove a run's rows and file records in one transaction, which leaves its files as orphans."""
        with self._database.transaction() as cursor:
            sql = "UPDATE raw.deleted_runs SET purged_at = ? WHERE run_id = ? RETURNING run_id"
            if not cursor.execute(sql, [self._clock(), run_id]).fetchall():
                return  # restored meanwhile
            files = remove_sealed_rows(cursor, self._parquet_dir, run_id)
            for table in (*TIME_COLUMNS, *RUN_TABLES):
                cursor.execute(f"DELETE FROM raw.{table} WHERE run_id = ?", [run_id])
            cursor.execute("DELETE FROM raw.shares WHERE list_contains(run_ids, ?)", [run_id])
            name_sealed_files(cursor, self._parquet_dir)
        start_grace_period(self._parquet_dir, files)

    def _finish(self, run_id: str, name: str) -> None:
        """Delete a run's folder with the log, then its last record except the audit."""
        folder = self._runs_dir / run_id
        if folder.is_dir() and folder.parent == self._runs_dir and not folder.is_symlink():
            remove_tree(folder)
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM raw.deleted_runs WHERE run_id = ?", [run_id])
            _audit(cursor, AuditEntry(self._clock(), "pitwall", "gone for good", run_id, name))


def _hide(cursor: duckdb.DuckDBPyConnection, run_id: str, role: str, now: datetime) -> None:
    rows = cursor.execute("FROM raw.runs WHERE id = ?", [run_id]).to_arrow_table().to_pylist()
    if not rows:
        raise StoreError(f"The run {run_id} no longer exists.")
    run = run_of(rows[0])
    cursor.execute(_HIDE, {"run_id": run_id, "now": now, "role": role, "record": run.model_dump_json()})
    cursor.execute("DELETE FROM raw.runs WHERE id = ?", [run_id])
    _audit(cursor, AuditEntry(now, role, "delete", run_id, run.name))


def _audit(cursor: duckdb.DuckDBPyConnection, entry: AuditEntry) -> None:
    append_rows(cursor, "audit", audit_table([entry]))
