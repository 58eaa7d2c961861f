"""Acceptance of drafted tokens; storage/views/terms.sql is the SQL counterpart."""

from __future__ import annotations


def acceptance_length_of(accepted: float, drafts: float) -> float | None:
    """Return tokens per verified draft, bonus token included: 1 + accepted / drafts; None without drafts."""
    return 1.0 + accepted / drafts if drafts else None


def acceptance_rate_of(accepted: float | None, draft_tokens: float | None) -> float | None:
    """Return accepted over drafted tokens, strict; None if one is unknown or nothing was drafted."""
    return accepted / draft_tokens if accepted is not None and draft_tokens else None
