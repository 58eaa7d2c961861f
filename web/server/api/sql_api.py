"""The routes `POST /api/sql` and `/api/lake/sql`: a statement's rows as JSON, CSV, Arrow or Parquet for programs.

docs/http-sql.md describes them.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from storage.sandbox.job import Fault, SqlAnswer, SqlRefusedError
from storage.user_sql.formats import FORMATS

Ask = Callable[[str], SqlAnswer]
STATUS = {Fault.STATEMENT: 400, Fault.LIMIT: 422, Fault.BUSY: 429, Fault.UNAVAILABLE: 503}
OWN_PATH, LAKE_PATH = "/api/sql", "/api/lake/sql"
MOST_BYTES = 256 * 1024
DATE_OUT_OF_RANGE = "A date is out of range: cast it to text."
ANY_FORMAT = {"*/*", "application/*", ""}


class _SqlRequestError(Exception):
    """A request that the program must correct, with its HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def sql_route(ask: Ask, base_path: str = "", path: str = OWN_PATH) -> Route:
    """Return the route; the access check lets the operator pass, and programs whose token has the route's scope."""

    async def answer(request: Request) -> Response:
        try:
            kind = _format_of(request.headers.get("accept", ""))
            sql = _statement(await _body(request), request.headers.get("content-type", ""))
            result = await run_in_threadpool(ask, sql)
            return await run_in_threadpool(_response, result, kind)
        except _SqlRequestError as mistake:
            return JSONResponse({"error": str(mistake)}, mistake.status)
        except SqlRefusedError as refusal:
            return JSONResponse({"error": str(refusal), "fault": refusal.fault}, STATUS[refusal.fault])
        except OverflowError:
            return JSONResponse({"error": DATE_OUT_OF_RANGE}, 422)

    return Route(f"{base_path}{path}", answer, methods=["POST"])


def _response(answer: SqlAnswer, kind: str) -> Response:
    headers = {
        "pitwall-rows": str(answer.table.num_rows),
        "pitwall-truncated": str(answer.truncated).lower(),
        "pitwall-elapsed-ms": f"{answer.elapsed_ms:.1f}",
        "cache-control": "no-store",
    }
    return Response(FORMATS[kind](answer), media_type=kind, headers=headers)


def _format_of(accept: str) -> str:
    """Return the first supported media type of the Accept header, JSON if it accepts anything."""
    media_types = [part.split(";")[0].strip().lower() for part in accept.split(",")]
    for media_type in media_types:
        if media_type in FORMATS:
            return media_type
    if ANY_FORMAT.isdisjoint(media_types):
        raise _SqlRequestError(406, f"Accept one of {', '.join(FORMATS)}.")
    return next(iter(FORMATS))


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise _SqlRequestError(413, f"A statement may have at most {MOST_BYTES // 1024} KiB.")
    return body


def _statement(body: bytes, content_type: str) -> str:
    """Return the SQL of a body: of {"sql": "..."} as JSON, else the text itself."""
    try:
        if content_type.split(";")[0].strip().lower() != "application/json":
            return body.decode()
        sql = orjson.loads(body)["sql"]
        if isinstance(sql, str):
            return sql
    except (ValueError, TypeError, KeyError):
        pass
    raise _SqlRequestError(400, 'Send the statement as text (UTF-8), or as JSON: {"sql": "SELECT ..."}.')
