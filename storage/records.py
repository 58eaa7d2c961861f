"""Shares, studies, notes, machines and audit entries as Arrow tables in the shape of their raw tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import pyarrow as pa

from domain import AdoptedPoint, AuditEntry, Machine, Share, Study
from notes import Gotcha, RunNote, SavedView

_MOMENT = pa.timestamp("us", tz="UTC")
SHARE_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("run_ids", pa.list_(pa.string())),
        ("page", pa.string()),
        ("created_at", _MOMENT),
        ("created_by", pa.string()),
        ("expires_at", _MOMENT),
        ("revoked_at", _MOMENT),
        ("note", pa.string()),
        ("study_id", pa.string()),
        ("query", pa.string()),
    ]
)
STUDY_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "title", "question", "state")),
        ("created_at", _MOMENT),
        ("updated_at", _MOMENT),
        ("plan", pa.string()),
        ("answer", pa.string()),
    ]
)
NOTE_SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("version", pa.int32()),
        ("written_at", _MOMENT),
        *((name, pa.string()) for name in ("role", "name", "text")),
        ("tags", pa.list_(pa.string())),
        *((name, pa.bool_()) for name in ("is_starred", "is_archived")),
        *((name, pa.int32()) for name in ("agentic_feel", "coding", "language")),
        ("impression", pa.string()),
    ]
)
_GOTCHA_TEXTS = ("role", "engine", "cause", "flag", "failure", "workaround", "link", "run_id")
GOTCHA_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("version", pa.int32()),
        ("written_at", _MOMENT),
        *((name, pa.string()) for name in _GOTCHA_TEXTS),
        ("is_withdrawn", pa.bool_()),
    ]
)
VIEW_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("page", "name")),
        ("version", pa.int32()),
        ("written_at", _MOMENT),
        *((name, pa.string()) for name in ("role", "query")),
        ("is_removed", pa.bool_()),
    ]
)
ADOPTED_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "name", "purpose", "reason", "config", "workload")),
        ("run_ids", pa.list_(pa.string())),
        ("adopted_by", pa.string()),
        ("role", pa.string()),
        ("adopted_at", _MOMENT),
        ("supersedes", pa.string()),
    ]
)
AUDIT_SCHEMA = pa.schema(
    [("ts", _MOMENT), ("role", pa.string()), ("action", pa.string()), ("run_id", pa.string()), ("detail", pa.string())]
)

MACHINE_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("host_name", pa.string()),
        ("addresses", pa.list_(pa.string())),
        ("system", pa.string()),
        ("cpu", pa.string()),
        ("cores", pa.int64()),
        ("memory_bytes", pa.int64()),
        ("gpus", pa.string()),
        ("gpus_reason", pa.string()),
        ("driver_version", pa.string()),
        ("cuda_version", pa.string()),
        ("seen_at", _MOMENT),
        ("url", pa.string()),
        ("reported_by", pa.string()),
    ]
)
LABEL_SCHEMA = pa.schema([("machine_id", pa.string()), ("label", pa.string()), ("labelled_at", _MOMENT)])


def machine_table(machine: Machine) -> pa.Table:
    """One machine as one row."""
    return pa.Table.from_pylist([asdict(machine) | {"gpus": json.dumps(machine.gpus)}], MACHINE_SCHEMA)


def label_table(machine_id: str, label: str | None, at: datetime) -> pa.Table:
    """A machine's label as one row."""
    row = {"machine_id": machine_id, "label": label, "labelled_at": at}
    return pa.Table.from_pylist([row], LABEL_SCHEMA)


def share_table(share: Share) -> pa.Table:
    """One share as one row."""
    return pa.Table.from_pylist([share.model_dump()], SHARE_SCHEMA)


def share_of(record: Mapping[str, Any]) -> Share:
    """The share that a row of raw.shares holds."""
    return Share.model_validate(record)


def study_table(study: Study) -> pa.Table:
    """One study as one row."""
    values = {"plan": study.plan, "answer": study.answer}
    texts = {name: None if value is None else json.dumps(value) for name, value in values.items()}
    return pa.Table.from_pylist([study.model_dump() | texts], STUDY_SCHEMA)


def study_of(record: Mapping[str, Any]) -> Study:
    """The study that a row of raw.studies holds."""
    decoded = {name: json.loads(record[name]) if record[name] else None for name in ("plan", "answer")}
    return Study.model_validate(dict(record) | decoded)


def note_table(notes: Iterable[RunNote]) -> pa.Table:
    """Versions of notes as rows."""
    return pa.Table.from_pylist([note.model_dump() for note in notes], NOTE_SCHEMA)


def gotcha_table(gotchas: Iterable[Gotcha]) -> pa.Table:
    """Versions of gotchas as rows."""
    return pa.Table.from_pylist([gotcha.model_dump() for gotcha in gotchas], GOTCHA_SCHEMA)


def view_table(view: SavedView) -> pa.Table:
    """One version of a saved view as one row."""
    return pa.Table.from_pylist([view.model_dump()], VIEW_SCHEMA)


def adopted_table(point: AdoptedPoint) -> pa.Table:
    """One adopted point as one row."""
    jsons = {"config": point.config, "workload": point.workload}
    texts = {name: value and value.model_dump_json() for name, value in jsons.items()}
    return pa.Table.from_pylist([point.model_dump() | texts], ADOPTED_SCHEMA)


def adopted_of(record: Mapping[str, Any]) -> AdoptedPoint:
    """The adopted point that a row of raw.adopted holds."""
    decoded = {name: json.loads(record[name]) if record[name] else None for name in ("config", "workload")}
    return AdoptedPoint.model_validate(dict(record) | decoded)


def audit_table(entries: Iterable[AuditEntry]) -> pa.Table:
    """Audit entries as rows."""
    return pa.Table.from_pylist([asdict(entry) for entry in entries], AUDIT_SCHEMA)
