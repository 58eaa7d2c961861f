"""Which runs whoever looks may see: all of them the operator, a viewer those of the share and no other."""

from __future__ import annotations

from domain import Run, Share
from web.access.auth import current_role, current_share_id
from web.context import services
from web.fleet import away_runs


def visible_runs(newest: int) -> list[Run]:
    """The runs that the running page script may speak of, the newest first; of the operator's at most `newest`."""
    if current_role() == "operator":
        return services().store.runs(limit=newest)
    share = current_share()
    shared = [services().store.run(run_id) for run_id in sorted(share.run_ids, reverse=True)] if share else []
    return [run for run in shared if run]


def visible_run(run_id: str) -> Run | None:
    """The run of this id, as far as it may be seen; an old one too."""
    if current_role() == "operator":
        return services().store.run(run_id) or next(iter(away_runs([run_id])), None)
    return next((run for run in visible_runs(newest=1) if run.id == run_id), None)


def current_share() -> Share | None:
    """The share that the viewer came by, while it is open; asked anew at every run of the script."""
    share_id = current_share_id()
    return services().shares.find_open(share_id) if share_id else None
