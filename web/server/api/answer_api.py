"""`GET /answer`: what a statement answers, as a file; the SQL page offers so what is too long to send with the page."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from storage.ask.free_sql.formats import FORMATS, csv_parts
from storage.sandbox.client import Sandbox
from storage.sandbox.job import Answer, SqlRefusedError
from web.access.roles import MEMBERS, ROLE_KEY, Role
from web.access.signin_page import signin_page
from web.context import services
from web.fleet import ALL, SCOPE
from web.places import ANSWER
from web.server.api.sql_api import STATUS

CSV, PARQUET = "csv", "parquet"
KINDS = {CSV: "text/csv", PARQUET: "application/vnd.apache.parquet"}  # of FORMATS
NOTHING = "The address names no statement, or no kind of file that there is."
FOR_MEMBERS = "SQL is for whoever may see all runs."
BEYOND = "A date is beyond the calendar: cast it to text."


def answer_route(base_path: str = "") -> Route:
    """The route: `?sql=`, `as=csv` or `parquet`, and the `name` of the file; the sandbox of the page, with its limits.

    The access check lets nobody pass but members; a guest is refused here as well.
    """

    async def answer(request: Request) -> Response:
        query, role = request.query_params, request.scope[ROLE_KEY]
        sql, kind = query.get("sql"), query.get("as", CSV)
        if role not in MEMBERS:
            return _none(FOR_MEMBERS, base_path, 403)
        if not sql or kind not in KINDS:
            return _none(NOTHING, base_path, 400)
        try:
            found = await run_in_threadpool(_sandbox(role, query.get(SCOPE)).ask, sql)
            parts = await run_in_threadpool(_parts, found, kind)
        except SqlRefusedError as refusal:
            return _none(str(refusal), base_path, STATUS[refusal.fault])
        except OverflowError:
            return _none(BEYOND, base_path, 422)
        name = quote(f"{query.get('name') or 'query'}.{kind}", safe="")
        headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}", "cache-control": "no-store"}
        return StreamingResponse(parts, media_type=KINDS[kind], headers=headers)

    return Route(f"{base_path}/{ANSWER}", answer, methods=["GET"])


def _sandbox(role: Role, scope: str | None) -> Sandbox:
    """Of all machines for the operator alone, as on the page."""
    lake = services().lake_sandbox
    return lake if scope == ALL and role == "operator" and lake is not None else services().sandbox


def _parts(found: Answer, kind: str) -> Iterable[bytes]:
    return csv_parts(found) if kind == CSV else [FORMATS[KINDS[kind]](found)]


def _none(why: str, base_path: str, status: int) -> HTMLResponse:
    return HTMLResponse(signin_page("No answer", why, form=None, home=f"{base_path}/"), status_code=status)
