"""The health of the store, as /healthz and the banner on the pages report it."""

from __future__ import annotations

from dataclasses import dataclass

from storage.files.lost import LostFile
from storage.files.publish import Publisher
from storage.files.seal import Sealer
from storage.writer import Writer


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Whether all is well with the store; `detail` says in words what is not."""

    ok: bool
    is_storing: bool  # what is given to it becomes durable; else it waits in memory
    detail: str | None
    pending_rows: int
    publish_ms: float | None  # how long the last publishing took
    waiting_s: float = 0.0  # since when something waits to become durable
    last_commit_age_s: float | None = None
    unpublished_s: float = 0.0  # since when the published file lacks something
    published_age_s: float | None = None
    lost: tuple[LostFile, ...] = ()  # sealed files that are left out


def health_of(writer: Writer, publisher: Publisher, sealer: Sealer) -> StoreHealth:
    """How the store is, as its three threads report it."""
    unwritten = writer.failure
    failure = unwritten or publisher.failure or sealer.failure
    return StoreHealth(
        ok=failure is None,
        is_storing=unwritten is None,
        detail=failure,
        pending_rows=writer.pending_rows,
        publish_ms=publisher.last_ms,
        waiting_s=writer.waiting_s,
        last_commit_age_s=writer.last_commit_age_s,
        unpublished_s=publisher.behind_s,
        published_age_s=publisher.age_s,
        lost=tuple(sealer.lost),
    )
