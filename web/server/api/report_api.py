"""The route `GET /report`: the self-contained report page of runs or of a study, also for shared links."""

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
from storage.queries.run_queries import runs_of, runs_of_batch
from web.access.roles import MEMBERS, NAME_KEY, ROLE_KEY, SHARE_KEY, may_see
from web.access.signin_page import signin_page
from web.compare.url_params import NAMES, parse_options
from web.context import services
from web.page_paths import REPORT
from web.report_export.page import policy
from web.report_export.report_files import ReportRequest, maker

MOST_RUNS = 100
MOST_AT_ONCE = 2  # each takes a core while it is made
NOTHING = "The address names no run that has ended, or a run that this link does not show."


def report_route(base_path: str = "") -> Route:
    """Return the route; the access check lets members and guests pass."""
    making = asyncio.Semaphore(MOST_AT_ONCE)

    async def report(request: Request) -> Response:
        async with making:
            return await run_in_threadpool(_answer, request, base_path)

    return Route(f"{base_path}/{REPORT}", report)


def _answer(request: Request, base_path: str) -> Response:
    query = request.query_params
    options, _ = parse_options({name: query.getlist(name) for name in NAMES})
    report_request = _report_request(request.scope, query.getlist("run"), query.get("study"))
    try:
        if report_request is None:
            return _error_page(NOTHING, base_path)
        text = (report_request if report_request.study else replace(report_request, options=options)).page()
    except WorkloadNotSharedError as error:
        return _error_page(str(error), base_path)
    headers = {
        "content-security-policy": f"{policy()}; frame-ancestors 'none'",
        "content-disposition": f'inline; filename="{report_request.file_name()}.html"',
        "cache-control": "no-store",
    }
    return HTMLResponse(text, headers=headers)


def _report_request(scope: Scope, run_ids: Sequence[str], study_id: str | None) -> ReportRequest | None:
    """Return the requested report, or None if it has no run that the visitor may see."""
    made_by = maker(scope[ROLE_KEY], scope[NAME_KEY])
    study = _study(scope, study_id) if study_id else None
    if study:
        runs = [run for run in runs_of_batch(services().store, study.id) if run.shown_state == "finished"]
    else:
        is_allowed = not study_id and len(run_ids) <= MOST_RUNS and may_see(scope, run_ids)
        runs = runs_of(services().store, run_ids) if is_allowed else []
    return ReportRequest(runs, made_by, study=study) if runs else None


def _study(scope: Scope, study_id: str) -> Study | None:
    share: Share | None = scope[SHARE_KEY]
    is_allowed = scope[ROLE_KEY] in MEMBERS or (share is not None and share.study_id == study_id)
    return next((study for study in services().store.studies() if is_allowed and study.id == study_id), None)


def _error_page(why: str, base_path: str) -> HTMLResponse:
    return HTMLResponse(signin_page("No report", why, form=None, home=f"{base_path}/"), status_code=404)
