"""Queries about shared links."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from storage.queries.run_data import Queryable
from storage.queries.statements import statement

OPENED = "open link"  # action in the audit, written when a link is opened for the first time


def link_openings(store: Queryable, since: datetime) -> list[dict[str, Any]]:
    """Return which links were first opened after a time, oldest first."""
    rows: list[dict[str, Any]] = store.query(statement("link_openings"), {"since": since, "action": OPENED}).to_pylist()
    return rows
