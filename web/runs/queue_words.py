"""Words for the wait of a queued run: the runs ahead of it, and how long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from domain import Run, RunState
from launcher.runs.queue import QueueWait
from web.context import services
from web.theme import duration

NEXT = "starts next"
ON_HOLD = "the queue is on hold"
DECISION = "waits for your decision about its batch"
MOST_NAMES = 2


def queued_texts(runs: Sequence[Run]) -> dict[str, str]:
    """Return by run id, for the queued ones of these runs: 'waits for A, queued for 4:12'."""
    queued, now = [run for run in runs if run.state is RunState.QUEUED], datetime.now(UTC)
    waits = current_waits() if queued else {}
    return {
        run.id: f"{waits.get(run.id, NEXT)}, queued for {duration(max((now - run.created_at).total_seconds(), 0.0))}"
        for run in queued
    }


def unexplained_waits(runs: Sequence[Run]) -> dict[str, str]:
    """Return `queued_texts` without the runs that wait only for others of these runs, since a reader sees those too."""
    names, supervisor = {run.name for run in runs}, services().supervisor
    waits = {} if supervisor.is_queue_on_hold else supervisor.queue_waits()
    explained_ids = {
        run_id
        for run_id, wait in waits.items()
        if wait.names_ahead and not wait.failed_start and names.issuperset(wait.names_ahead)
    }
    return {run_id: words for run_id, words in queued_texts(runs).items() if run_id not in explained_ids}


def current_waits() -> dict[str, str]:
    """Return by run id what each waiting run waits for now."""
    supervisor = services().supervisor
    return {run_id: wait_text(wait, supervisor.is_queue_on_hold) for run_id, wait in supervisor.queue_waits().items()}


def wait_text(wait: QueueWait, is_on_hold: bool) -> str:
    """Return 'waits for A, B and 2 more runs', the decision or the pause that it waits for, or that it starts next."""
    if wait.failed_start:
        return DECISION
    if is_on_hold:
        return ON_HOLD
    names, more = wait.names_ahead[:MOST_NAMES], len(wait.names_ahead) - MOST_NAMES
    parts = [*names, f"{more} more run{'s' * (more > 1)}"] if more > 0 else names
    if not parts:
        return NEXT
    return f"waits for {' and '.join([', '.join(parts[:-1]), parts[-1]] if parts[1:] else parts)}"
