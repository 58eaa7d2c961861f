"""`GET /report`: the report of runs or of a study, as one page that needs no other; what a shared link may open."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from analysis.comparison.workload import WorkloadNotSharedError
from domain import Share, Study
from storage.ask.run_queries import runs_of, runs_of_batch
from web.access.roles import MEMBERS, NAME_KEY, ROLE_KEY, SHARE_KEY, may_see
from web.access.signin_page import signin_page
from web.compare.asking import NAMES, asked_by
from web.context import services
from web.places import REPORT
from web.report.made import Wanted, maker
from web.report.page import policy

MOST_RUNS = 100
MOST_AT_ONCE = 2  # each takes a core while it is made
NOTHING = "The address names no run that has ended, or what a shared link does not show."


def report_route(base_path: str = "") -> Route:
    """The route; the access check before it lets members pass, and guests."""
    making = asyncio.Semaphore(MOST_AT_ONCE)

    async def report(request: Request) -> Response:
        async with making:
            return await run_in_threadpool(_answer, request, base_path)

    return Route(f"{base_path}/{REPORT}", report)


def _answer(request: Request, base_path: str) -> Response:
    query = request.query_params
    asking, _ = asked_by({name: query.getlist(name) for name in NAMES})
    wanted = _wanted(request.scope, query.getlist("run"), query.get("study"))
    try:
        if wanted is None:
            return _none(NOTHING, base_path)
        text = (wanted if wanted.study else replace(wanted, asking=asking)).page()
    except WorkloadNotSharedError as error:
        return _none(str(error), base_path)
    headers = {
        "content-security-policy": f"{policy()}; frame-ancestors 'none'",
        "content-disposition": f'inline; filename="{wanted.file_name()}.html"',
        "cache-control": "no-store",
    }
    return HTMLResponse(text, headers=headers)


def _wanted(scope: Scope, run_ids: Sequence[str], study_id: str | None) -> Wanted | None:
    """What is asked for, as far as whoever asks may see it."""
    made_by = maker(scope[ROLE_KEY], scope[NAME_KEY])
    study = _study(scope, study_id) if study_id else None
    if study:
        runs = [run for run in runs_of_batch(services().store, study.id) if run.state == "finished"]
    else:
        may = not study_id and len(run_ids) <= MOST_RUNS and may_see(scope, run_ids)
        runs = runs_of(services().store, run_ids) if may else []
    return Wanted(runs, made_by, study=study) if runs else None


def _study(scope: Scope, study_id: str) -> Study | None:
    share: Share | None = scope[SHARE_KEY]
    may = scope[ROLE_KEY] in MEMBERS or (share is not None and share.study_id == study_id)
    return next((one for one in services().store.studies() if may and one.id == study_id), None)


def _none(why: str, base_path: str) -> HTMLResponse:
    return HTMLResponse(signin_page("No report", why, form=None, home=f"{base_path}/"), status_code=404)
