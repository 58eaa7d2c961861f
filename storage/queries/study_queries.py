"""Queries about studies, for the store or the published file."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from domain import Study
from storage.queries.run_data import Queryable
from storage.queries.statements import statement
from storage.records import study_of


def studies(store: Queryable) -> list[Study]:
    """Return all studies, newest first."""
    return [study_of(row) for row in store.query(statement("studies"), {}).to_pylist()]


def studies_ended_since(store: Queryable, since: datetime) -> list[Study]:
    """Return the studies that ended after a time, oldest end first."""
    return [study_of(row) for row in store.query(statement("studies_ended_since"), {"since": since}).to_pylist()]


def study_outcomes(store: Queryable) -> list[dict[str, Any]]:
    """Return question and answer of each study, by id, in the columns of the view `studies`."""
    rows: list[dict[str, Any]] = store.query(statement("study_outcomes"), {}).to_pylist()
    return rows
