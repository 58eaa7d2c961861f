"""Records page actions in the audit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from domain import AuditEntry
from web.access.roles import current_person
from web.context import services


def record(action: str, run_ids: Sequence[str] = (), detail: str = "") -> None:
    """Record that the viewer did `action` to these runs, or to none."""
    recorded_at, person = datetime.now(UTC), current_person()
    audited_ids: Sequence[str | None] = run_ids or [None]
    services().store.record([AuditEntry(recorded_at, person, action, run_id, detail) for run_id in audited_ids])
