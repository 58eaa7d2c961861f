"""The route `GET /answer`: a statement's result as a file, for results too large to send with the SQL page."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from storage.sandbox.client import Sandbox
from storage.sandbox.job import SqlAnswer, SqlRefusedError
from storage.user_sql.formats import FORMATS, csv_parts
from web.access.roles import MEMBERS, ROLE_KEY, Role
from web.access.signin_page import signin_page
from web.context import services
from web.fleet import ALL, SCOPE
from web.page_paths import ANSWER
from web.server.api.sql_api import DATE_OUT_OF_RANGE, STATUS

CSV, PARQUET = "csv", "parquet"
MEDIA_TYPES = {CSV: "text/csv", PARQUET: "application/vnd.apache.parquet"}  # of FORMATS
NOTHING = "The address contains no statement, or an unknown file type."
FOR_MEMBERS = "SQL is only for members, who may see all runs."


def answer_route(base_path: str = "") -> Route:
    """Return the route: `?sql=`, `as=csv` or `parquet`, and the file's `name`; it uses the page's sandbox and limits.

    The access check lets only members pass; guests are refused here as well.
    """

    async def answer(request: Request) -> Response:
        query, role = request.query_params, request.scope[ROLE_KEY]
        sql, kind = query.get("sql"), query.get("as", CSV)
        if role not in MEMBERS:
            return _error_page(FOR_MEMBERS, base_path, 403)
        if not sql or kind not in MEDIA_TYPES:
            return _error_page(NOTHING, base_path, 400)
        try:
            result = await run_in_threadpool(_sandbox(role, query.get(SCOPE)).ask, sql)
            parts = await run_in_threadpool(_parts, result, kind)
        except SqlRefusedError as refusal:
            return _error_page(str(refusal), base_path, STATUS[refusal.fault])
        except OverflowError:
            return _error_page(DATE_OUT_OF_RANGE, base_path, 422)
        name = quote(f"{query.get('name') or 'query'}.{kind}", safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}", "cache-control": "no-store"}
        return StreamingResponse(parts, media_type=MEDIA_TYPES[kind], headers=headers)

    return Route(f"{base_path}/{ANSWER}", answer, methods=["GET"])


def _sandbox(role: Role, scope: str | None) -> Sandbox:
    """Return the sandbox; as on the page, only the operator gets the one with all machines."""
    lake = services().lake_sandbox
    return lake if scope == ALL and role == "operator" and lake is not None else services().sandbox


def _parts(result: SqlAnswer, kind: str) -> Iterable[bytes]:
    return csv_parts(result) if kind == CSV else [FORMATS[MEDIA_TYPES[kind]](result)]


def _error_page(why: str, base_path: str, status: int) -> HTMLResponse:
    return HTMLResponse(signin_page("No answer", why, form=None, home=f"{base_path}/"), status_code=status)
