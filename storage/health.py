"""The health of the store, as /healthz and the banner on the pages report it."""

from __future__ import annotations

from dataclasses import dataclass

from storage.files.lost_files import LostFile
from storage.files.publish import Publisher
from storage.files.seal import Sealer
from storage.writer import Writer


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """The state of the store; `detail` describes a failure."""

    ok: bool
    is_storing: bool  # submitted rows become durable; otherwise they wait in memory
    detail: str | None
    pending_rows: int
    publish_ms: float | None  # duration of the last publish
    waiting_s: float = 0.0  # age of the oldest row that is not durable
    last_commit_age_s: float | None = None
    unpublished_s: float = 0.0  # age of the oldest change missing from the published file
    published_age_s: float | None = None
    lost_files: tuple[LostFile, ...] = ()  # sealed files that the views leave out


def health_of(writer: Writer, publisher: Publisher, sealer: Sealer) -> StoreHealth:
    """Return the store's health as reported by its three threads."""
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
        lost_files=tuple(sealer.lost_files),
    )
