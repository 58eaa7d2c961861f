"""The runs and studies that the current viewer may see: a member all, a guest only those of their shared link."""

from __future__ import annotations

from collections.abc import Sequence

from domain import Run, Share, Study
from web.access.roles import MEMBERS, current_role, current_share_id
from web.context import services
from web.fleet import away_runs


def visible_runs(newest: int, requested_ids: Sequence[str] = ()) -> list[Run]:
    """Return the runs that the viewer may see, newest first.

    A member gets the `newest` ones, followed by those that the URL names, however old.
    """
    if current_role() in MEMBERS:
        runs = services().store.runs(limit=newest)
        older = set(requested_ids) - {run.id for run in runs}
        return runs + services().store.runs_of([run_id for run_id in requested_ids if run_id in older])
    share = current_share()
    shared = [services().store.run(run_id) for run_id in sorted(share.run_ids, reverse=True)] if share else []
    return [run for run in shared if run]


def visible_ids() -> list[str] | None:
    """Return the ids of the runs that the viewer may see; None: all."""
    if current_role() in MEMBERS:
        return None
    share = current_share()
    return list(share.run_ids) if share else []


def visible_run(run_id: str) -> Run | None:
    """Return the run with this id if the viewer may see it, however old it is."""
    if current_role() in MEMBERS:
        return services().store.run(run_id) or next(iter(away_runs([run_id])), None)
    return next((run for run in visible_runs(newest=1) if run.id == run_id), None)


def visible_studies() -> list[Study]:
    """Return the studies that the viewer may see, newest first."""
    studies = services().store.studies()
    if current_role() in MEMBERS:
        return studies
    share = current_share()
    return [study for study in studies if share and study.id == share.study_id]


def current_share() -> Share | None:
    """Return the guest's share while it is open; checked at every run of the page script."""
    share_id, share_book = current_share_id(), services().shares
    share = share_book.find_open(share_id) if share_id else None
    if share is None or share.study_id is None:
        return share
    share_book.refresh_study(share.study_id)
    return share_book.find_open(share.id)
