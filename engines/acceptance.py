"""Acceptance of drafted tokens, as storage/views/terms.sql has it for SQL."""

from __future__ import annotations


def acceptance_length_of(accepted: float, drafts: float) -> float | None:
    """Tokens per verified draft, its own token included: 1 + accepted / drafts; None without drafts."""
    return 1.0 + accepted / drafts if drafts else None


def acceptance_rate_of(accepted: float | None, draft_tokens: float | None) -> float | None:
    """Accepted over drafted tokens, strict; None where one is not known or nothing was drafted."""
    return accepted / draft_tokens if accepted is not None and draft_tokens else None
