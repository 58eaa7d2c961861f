"""What whoever looks may see: a member everything, a guest the runs or the study of the share and no other."""

from __future__ import annotations

from collections.abc import Sequence

from domain import Run, Share, Study
from web.access.roles import MEMBERS, current_role, current_share_id
from web.context import services
from web.fleet import away_runs


def visible_runs(newest: int, named: Sequence[str] = ()) -> list[Run]:
    """The runs that the running page script may speak of, the newest first.

    Of a member's the `newest`, and behind them those that the address names, however old they are.
    """
    if current_role() in MEMBERS:
        runs = services().store.runs(limit=newest)
        older = set(named) - {run.id for run in runs}
        return runs + services().store.runs_of([run_id for run_id in named if run_id in older])
    share = current_share()
    shared = [services().store.run(run_id) for run_id in sorted(share.run_ids, reverse=True)] if share else []
    return [run for run in shared if run]


def visible_ids() -> list[str] | None:
    """The runs that the running page script may speak of; None: all."""
    if current_role() in MEMBERS:
        return None
    share = current_share()
    return list(share.run_ids) if share else []


def visible_run(run_id: str) -> Run | None:
    """The run of this id, as far as it may be seen; an old one too."""
    if current_role() in MEMBERS:
        return services().store.run(run_id) or next(iter(away_runs([run_id])), None)
    return next((run for run in visible_runs(newest=1) if run.id == run_id), None)


def visible_studies() -> list[Study]:
    """The studies that the running page script may speak of, the newest first."""
    found = services().store.studies()
    if current_role() in MEMBERS:
        return found
    share = current_share()
    return [one for one in found if share and one.id == share.study_id]


def current_share() -> Share | None:
    """The share that the guest came by, while it is open; asked anew at every run of the script."""
    share_id, book = current_share_id(), services().shares
    share = book.find_open(share_id) if share_id else None
    if share is None or share.study_id is None:
        return share
    book.look_at_study(share.study_id)
    return book.find_open(share.id)
