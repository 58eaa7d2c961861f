"""How fresh what Pitwall shows is: the store, the published file, each live run's log and collectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.loop import Freshness
from storage.health import StoreHealth

BEHIND_S = 30.0  # what was given so long ago and is not durable, or not published, is reported
BEHIND_BYTES = 64 << 20  # of a log


def is_fresh(store: StoreHealth) -> bool:
    """Whether what was given to the store is durable and published in time."""
    return store.ok and store.waiting_s < BEHIND_S and store.unpublished_s < BEHIND_S


def health_fields(store: StoreHealth, live: Sequence[Freshness]) -> dict[str, Any]:
    """For `/healthz`, which is open to all: ages, sizes and run ids, no path and no name."""
    return {
        "store": {
            "last_commit_age_s": _rounded(store.last_commit_age_s),
            "waiting_s": _rounded(store.waiting_s),
            "pending_rows": store.pending_rows,
            "published_age_s": _rounded(store.published_age_s),
            "unpublished_s": _rounded(store.unpublished_s),
        },
        "runs": {one.run_id: {"unread_bytes": one.unread_bytes, "hanging": one.hanging} for one in live},
        "runs_with_lost_files": sorted({one.run_id or "" for one in store.lost}),
    }


def health_sentences(store: StoreHealth, live: Sequence[Freshness], names: Mapping[str, str]) -> list[str]:
    """What whoever operates Pitwall should know, a sentence each; `names` by run id."""
    said = []
    if store.detail:
        said.append(f"The store reports a problem; Pitwall keeps retrying. {store.detail}")
    if store.waiting_s >= BEHIND_S:
        said.append(f"The store is {store.waiting_s:.0f} s behind: {store.pending_rows:,} rows wait to be written.")
    if store.unpublished_s >= BEHIND_S:
        said.append(f"The published file is {store.unpublished_s:.0f} s behind the store.")
    for one in live:
        name = names.get(one.run_id, one.run_id)
        said += [f"{name}: {collector} does not answer; the rest of the run goes on." for collector in one.hanging]
        said += [
            f"{name}: {size >> 20:,} MiB of its {collector} are not read yet."
            for collector, size in one.unread_bytes.items()
            if size >= BEHIND_BYTES
        ]
    return [*said, *(one.sentence() for one in store.lost)]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
