"""Shares and audit entries as Arrow tables in the shape of their raw tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from domain import AuditEntry, Share

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
    ]
)
AUDIT_SCHEMA = pa.schema(
    [("ts", _MOMENT), ("role", pa.string()), ("action", pa.string()), ("run_id", pa.string()), ("detail", pa.string())]
)


def share_table(share: Share) -> pa.Table:
    """One share as one row."""
    return pa.Table.from_pylist([share.model_dump()], SHARE_SCHEMA)


def share_of(record: Mapping[str, Any]) -> Share:
    """The share that a row of raw.shares holds."""
    return Share.model_validate(record)


def audit_table(entries: Iterable[AuditEntry]) -> pa.Table:
    """Audit entries as rows."""
    return pa.Table.from_pylist([asdict(entry) for entry in entries], AUDIT_SCHEMA)
