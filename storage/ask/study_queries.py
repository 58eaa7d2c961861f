"""The questions about studies, asked of the store or of the published file alike."""

from __future__ import annotations

from typing import Any

from domain import Study
from storage.ask.queries import Asked
from storage.ask.statements import statement
from storage.records import study_of


def studies(asked: Asked) -> list[Study]:
    """All studies, the newest first."""
    return [study_of(row) for row in asked.query(statement("studies"), {}).to_pylist()]


def study_outcomes(asked: Asked) -> list[dict[str, Any]]:
    """What each study asks and has answered, by its id, in the columns of the view `studies`."""
    rows: list[dict[str, Any]] = asked.query(statement("study_outcomes"), {}).to_pylist()
    return rows
