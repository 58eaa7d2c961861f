"""Health problems for the banner above the pages."""

from __future__ import annotations

from reports.health import health_sentences
from web.context import services

MAX_SENTENCES = 5


def trouble_sentences() -> list[str]:
    """Return one sentence per problem: at most five, and the number of further ones."""
    pitwall = services()
    names = {run.id: run.name for run in pitwall.supervisor.live_runs()}
    sentences = health_sentences(pitwall.store.health(), pitwall.freshness(), names)
    overflow = (
        [f"{len(sentences) - MAX_SENTENCES} more: see /healthz and `./pitwall check`."]
        if len(sentences) > MAX_SENTENCES
        else []
    )
    return [*sentences[:MAX_SENTENCES], *overflow]
