"""`POST /api/sql` and `/api/lake/sql`: a statement from a program, its rows as JSON, CSV, Arrow or Parquet.

docs/http-sql.md describes them.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from storage.ask.free_sql.formats import FORMATS
from storage.sandbox.job import Answer, Fault, SqlRefusedError

Ask = Callable[[str], Answer]
STATUS = {Fault.STATEMENT: 400, Fault.LIMIT: 422, Fault.BUSY: 429, Fault.UNAVAILABLE: 503}
OWN, OF_LAKE = "/api/sql", "/api/lake/sql"
MOST_BYTES = 256 * 1024
ANY_FORMAT = {"*/*", "application/*", ""}


class _UsageError(Exception):
    """What the program must do otherwise, with the HTTP status that says so."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def sql_route(ask: Ask, base_path: str = "", path: str = OWN) -> Route:
    """The route; the access check lets the operator pass and programs whose token reads SQL, or the lake by it."""

    async def answer(request: Request) -> Response:
        try:
            kind = _format_of(request.headers.get("accept", ""))
            sql = _statement(await _body(request), request.headers.get("content-type", ""))
            found = await run_in_threadpool(ask, sql)
            return await run_in_threadpool(_response, found, kind)
        except _UsageError as mistake:
            return JSONResponse({"error": str(mistake)}, mistake.status)
        except SqlRefusedError as refusal:
            return JSONResponse({"error": str(refusal), "fault": refusal.fault}, STATUS[refusal.fault])

    return Route(f"{base_path}{path}", answer, methods=["POST"])


def _response(answer: Answer, kind: str) -> Response:
    headers = {
        "pitwall-rows": str(answer.table.num_rows),
        "pitwall-truncated": str(answer.truncated).lower(),
        "pitwall-elapsed-ms": f"{answer.elapsed_ms:.1f}",
        "cache-control": "no-store",
    }
    return Response(FORMATS[kind](answer), media_type=kind, headers=headers)


def _format_of(accept: str) -> str:
    """The first media type of the Accept header that we can give; JSON to who takes anything."""
    wanted = [part.split(";")[0].strip().lower() for part in accept.split(",")]
    for one in wanted:
        if one in FORMATS:
            return one
    if ANY_FORMAT.isdisjoint(wanted):
        raise _UsageError(406, f"Accept one of {', '.join(FORMATS)}.")
    return next(iter(FORMATS))


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise _UsageError(413, f"A statement may have {MOST_BYTES // 1024} KiB.")
    return body


def _statement(body: bytes, content_type: str) -> str:
    """The SQL of a body: {"sql": "..."} as JSON, else the text itself."""
    try:
        if content_type.split(";")[0].strip().lower() != "application/json":
            return body.decode()
        sql = orjson.loads(body)["sql"]
        if isinstance(sql, str):
            return sql
    except (ValueError, TypeError, KeyError):
        pass
    raise _UsageError(400, 'Send the statement as text (UTF-8), or as JSON: {"sql": "SELECT ..."}.')
