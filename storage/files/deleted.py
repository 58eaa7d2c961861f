"""Runs deleted by a person or by the retention rule: hidden at once, restorable for a day, then removed.

A deleted run moves from `raw.runs`, where every page and query would find it, to `raw.deleted_runs`. After a day one
transaction removes its rows and the names of its files, then its folder is deleted, then its record. A removal that
was interrupted continues at the next look. The audit keeps a tombstone.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

import duckdb

from domain import AuditEntry, Run
from settings import Settings
from storage.ask.queries import Asked
from storage.ask.statements import statement
from storage.catalog import name_sealed_files
from storage.database import Database, StoreError
from storage.files.cut import cut_out
from storage.files.merge import keep_an_hour
from storage.records import audit_table
from storage.rows import TIME_COLUMNS, run_of, run_table
from storage.writer import append_rows, replace_rows

UNDO_FOR = timedelta(days=1)
BY_RULE = "retention rule"
LIVE = "it has not ended"
UNKNOWN = "there is no such run"
BESIDE = ("tail_positions", "agents", "run_notes", "run_reports", "foreign_runs")  # the other tables with rows of a run
_WAITING = "SELECT run_id, deleted_at, role, record FROM raw.deleted_runs WHERE purged_at IS NULL"
_LEAVE = """
    INSERT INTO raw.deleted_runs BY NAME
    SELECT id AS run_id, $now AS deleted_at, $role AS role, $record AS record FROM raw.runs WHERE id = $run_id
"""


class DeletedRun(NamedTuple):
    """A run that can still be brought back, until `goes_at`."""

    run: Run
    deleted_at: datetime
    role: str
    goes_at: datetime


class RunBin:
    """The deleted runs of a store; safe from any thread. `changed` is called after each change."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        asked: Asked,
        clock: Callable[[], datetime],
        changed: Callable[[], None],
    ) -> None:
        self._parquet_dir = settings.parquet_dir.absolute()
        self._runs_dir = settings.runs_dir
        self._database = database
        self._asked = asked
        self._clock = clock
        self._changed = changed

    def why_kept(self, run_ids: Sequence[str]) -> dict[str, str]:
        """Why some of these runs cannot be deleted, in words; those that can are not in it."""
        rows = self._asked.query("SELECT id, state FROM raw.runs WHERE list_contains($ids, id)", {"ids": list(run_ids)})
        states = {row["id"]: row["state"] for row in rows.to_pylist()}
        live = {run_id: LIVE for run_id, state in states.items() if state not in ("finished", "failed")}
        given = {"run_ids": list(run_ids), "now": self._clock()}
        referred = self._asked.query(statement("references"), given).to_pylist()
        gone = {run_id: UNKNOWN for run_id in run_ids if run_id not in states}
        return gone | {row["run_id"]: f"{row['what']} refers to it" for row in referred} | live

    def delete(self, run_ids: Sequence[str], role: str) -> dict[str, str]:
        """Hide these runs, durably when it returns; of those that were kept, why. Raises duckdb.Error, StoreError."""
        kept = self.why_kept(run_ids)
        now = self._clock()
        with self._database.transaction() as cursor:
            for run_id in dict.fromkeys(run_ids):
                if run_id not in kept:
                    _hide(cursor, run_id, role, now)
        self._changed()
        return kept

    def waiting(self) -> list[DeletedRun]:
        """The runs that can be brought back, the newest deletion first."""
        rows = self._asked.query(f"{_WAITING} ORDER BY deleted_at DESC, run_id").to_pylist()
        runs = [(Run.model_validate_json(row["record"]), row) for row in rows]
        return [DeletedRun(run, row["deleted_at"], row["role"], row["deleted_at"] + UNDO_FOR) for run, row in runs]

    def holds(self, run_id: str) -> bool:
        """Whether a run is deleted and not wholly gone yet."""
        found = self._asked.query("SELECT run_id FROM raw.deleted_runs WHERE run_id = $id", {"id": run_id})
        return bool(found["run_id"].to_pylist())

    def bring_back(self, run_ids: Sequence[str], role: str) -> int:
        """Undo the deletion of these runs; how many were still there. Raises duckdb.Error where one is just going."""
        back = [one for one in self.waiting() if one.run.id in run_ids]
        with self._database.transaction() as cursor:
            for one in back:
                cursor.execute("DELETE FROM raw.deleted_runs WHERE run_id = ?", [one.run.id])
                replace_rows(cursor, "runs", run_table(one.run))
                _note(cursor, AuditEntry(self._clock(), role, "bring back", one.run.id, one.run.name))
        self._changed()
        return len(back)

    def keep_days(self) -> int | None:
        """After how many days a run that has ended is deleted; None: never."""
        found = self._asked.query("SELECT keep_days FROM raw.retention ORDER BY set_at DESC, rowid DESC LIMIT 1")[
            "keep_days"
        ]
        days: int | None = found[0].as_py() if len(found) else None
        return days

    def set_keep_days(self, days: int | None, role: str) -> None:
        """Set the rule, or none. Raises ValueError below one day."""
        if days is not None and days < 1:
            raise ValueError("A run is kept for one day at least.")
        now, words = self._clock(), f"after {days} days" if days else "never by a rule"
        with self._database.transaction() as cursor:
            cursor.execute("INSERT INTO raw.retention VALUES (?, ?, ?)", [now, role, days])
            _note(cursor, AuditEntry(now, role, "retention", None, f"runs are deleted {words}"))
        self._changed()

    def outdated(self, days: int) -> dict[str, str]:
        """Id and name of the runs that a rule of so many days would delete now, the oldest first."""
        given = {"until": self._clock() - timedelta(days=days), "now": self._clock()}
        return {row["run_id"]: row["name"] for row in self._asked.query(statement("outdated"), given).to_pylist()}

    def apply_rule(self) -> int:
        """Delete what the rule says; the number of runs."""
        days = self.keep_days()
        due = list(self.outdated(days)) if days else []
        return len(due) - len(self.delete(due, BY_RULE)) if due else 0

    def purge_due(self) -> int:
        """Let go of what was deleted a day ago, for good; how many runs are gone. The caller holds off sealing."""
        with self._database.cursor() as cursor:
            sql = "SELECT run_id FROM raw.deleted_runs WHERE deleted_at <= ? AND purged_at IS NULL"
            due = [run_id for (run_id,) in cursor.execute(sql, [self._clock() - UNDO_FOR]).fetchall()]
        for run_id in due:
            self._purge(run_id)
        with self._database.cursor() as cursor:
            sql = "SELECT run_id, record FROM raw.deleted_runs WHERE purged_at IS NOT NULL"
            purged: Mapping[str, str] = dict(cursor.execute(sql).fetchall())
        for run_id, record in purged.items():
            self._finish(run_id, Run.model_validate_json(record).name)
        if purged:
            self._changed()
        return len(purged)

    def _purge(self, run_id: str) -> None:
        """Its rows and the names of its files leave the store together; the files are orphans then."""
        with self._database.transaction() as cursor:
            due = "UPDATE raw.deleted_runs SET purged_at = ? WHERE run_id = ? RETURNING run_id"
            if not cursor.execute(due, [self._clock(), run_id]).fetchall():
                return  # somebody has brought it back meanwhile
            files = cut_out(cursor, self._parquet_dir, run_id)
            for table in (*TIME_COLUMNS, *BESIDE):
                cursor.execute(f"DELETE FROM raw.{table} WHERE run_id = ?", [run_id])
            cursor.execute("DELETE FROM raw.shares WHERE list_contains(run_ids, ?)", [run_id])
            name_sealed_files(cursor, self._parquet_dir)
        keep_an_hour(self._parquet_dir, files)

    def _finish(self, run_id: str, name: str) -> None:
        """Its folder with the log, then the last that is known of it but the audit."""
        folder = self._runs_dir / run_id
        if folder.is_dir() and folder.parent == self._runs_dir and not folder.is_symlink():
            shutil.rmtree(folder)
        with self._database.transaction() as cursor:
            cursor.execute("DELETE FROM raw.deleted_runs WHERE run_id = ?", [run_id])
            _note(cursor, AuditEntry(self._clock(), "pitwall", "gone for good", run_id, name))


def _hide(cursor: duckdb.DuckDBPyConnection, run_id: str, role: str, now: datetime) -> None:
    rows = cursor.execute("FROM raw.runs WHERE id = ?", [run_id]).to_arrow_table().to_pylist()
    if not rows:
        raise StoreError(f"The run {run_id} has gone meanwhile.")
    run = run_of(rows[0])
    cursor.execute(_LEAVE, {"run_id": run_id, "now": now, "role": role, "record": run.model_dump_json()})
    cursor.execute("DELETE FROM raw.runs WHERE id = ?", [run_id])
    _note(cursor, AuditEntry(now, role, "delete", run_id, run.name))


def _note(cursor: duckdb.DuckDBPyConnection, entry: AuditEntry) -> None:
    append_rows(cursor, "audit", audit_table([entry]))
