"""What is wrong with what the pages show, for the banner above them."""

from __future__ import annotations

from reports.health import health_sentences
from web.context import services

MOST = 5


def troubles() -> list[str]:
    """A sentence each, at most five and how many more there are."""
    ours = services()
    names = {run.id: run.name for run in ours.supervisor.live_runs()}
    said = health_sentences(ours.store.health(), ours.freshness(), names)
    more = [f"{len(said) - MOST} more: see /healthz and `./pitwall check`."] if len(said) > MOST else []
    return [*said[:MOST], *more]
