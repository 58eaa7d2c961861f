"""Writing down who changed what; every action of a page ends here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from domain import AuditEntry
from web.access.roles import current_person
from web.context import services


def record(action: str, run_ids: Sequence[str] = (), detail: str = "") -> None:
    """Note that whoever looks at the page has done `action` to these runs, or to none."""
    now, who = datetime.now(UTC), current_person()
    touched: Sequence[str | None] = run_ids or [None]
    services().store.record([AuditEntry(now, who, action, run_id, detail) for run_id in touched])
