"""Health of the store, of the published file, and of each live run's log and collectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.loop import Freshness
from storage.health import StoreHealth

BEHIND_S = 30.0  # rows neither durable nor published after this time are reported
BEHIND_BYTES = 64 << 20  # of unread log


def is_fresh(store: StoreHealth) -> bool:
    """Whether the rows given to the store become durable and published in time."""
    return store.ok and store.waiting_s < BEHIND_S and store.unpublished_s < BEHIND_S


def health_fields(store: StoreHealth, live: Sequence[Freshness]) -> dict[str, Any]:
    """Return the body of `/healthz`, which is public: ages, sizes and run ids, no paths and no names."""
    return {
        "store": {
            "last_commit_age_s": _rounded(store.last_commit_age_s),
            "waiting_s": _rounded(store.waiting_s),
            "pending_rows": store.pending_rows,
            "published_age_s": _rounded(store.published_age_s),
            "unpublished_s": _rounded(store.unpublished_s),
        },
        "runs": {
            freshness.run_id: {"unread_bytes": freshness.unread_bytes, "hanging": freshness.hanging}
            for freshness in live
        },
        "runs_with_lost_files": sorted({file.run_id or "" for file in store.lost_files}),
    }


def health_sentences(store: StoreHealth, live: Sequence[Freshness], names: Mapping[str, str]) -> list[str]:
    """Return the problems that an operator should know, one sentence each. names: by run id."""
    sentences = []
    if store.detail:
        sentences.append(f"The store reports a problem; Pitwall keeps retrying. {store.detail}")
    if store.waiting_s >= BEHIND_S:
        sentences.append(
            f"The store is {store.waiting_s:.0f} s behind: {store.pending_rows:,} rows wait to be written."
        )
    if store.unpublished_s >= BEHIND_S:
        sentences.append(f"The published file is {store.unpublished_s:.0f} s behind the store.")
    for freshness in live:
        name = names.get(freshness.run_id, freshness.run_id)
        sentences += [
            f"{name}: its {collector} collector does not respond; the rest of the run continues."
            for collector in freshness.hanging
        ]
        sentences += [
            f"{name}: {size >> 20:,} MiB of its {collector} have not been read yet."
            for collector, size in freshness.unread_bytes.items()
            if size >= BEHIND_BYTES
        ]
    return [*sentences, *(file.sentence() for file in store.lost_files)]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
