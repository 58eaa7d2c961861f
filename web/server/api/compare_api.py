"""The route `POST /api/compare`: the answer of `./pitwall compare --json` for programs, with the guard's refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from errors import PitwallError

MOST_RUNS = 60
MOST_AT_ONCE = 1  # each takes a core
MOST_BYTES = 64 * 1024
Word = Annotated[str, Field(max_length=200)]


class ComparisonRequest(BaseModel):
    """The body of a request: runs and the options of `./pitwall compare`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    runs: Annotated[Sequence[Word], Field(min_length=1, max_length=MOST_RUNS)]
    objective: Word | None = None
    declare: Annotated[Sequence[Word], Field(max_length=10)] = ()
    margin: Word | None = None
    claim: Word | None = None
    workload: Word | None = None
    viewpoints: bool = False


def compare_route(compare: Callable[[ComparisonRequest], dict[str, Any]], base_path: str = "") -> Route:
    """Return the route; the access check lets the operator pass, and programs whose token has the scope sql:read."""
    comparing = asyncio.Semaphore(MOST_AT_ONCE)

    async def answer(request: Request) -> JSONResponse:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return _refusal(413, f"A request may have at most {MOST_BYTES // 1024} KiB.")
        try:
            comparison = ComparisonRequest.model_validate_json(body)
        except ValidationError as error:
            place, message = ".".join(map(str, error.errors()[0]["loc"])), error.errors()[0]["msg"]
            return _refusal(400, f'Send JSON such as {{"runs": ["ID", "ID"]}}: {f"{place}: " * bool(place)}{message}.')
        try:
            async with comparing:
                fields = await run_in_threadpool(compare, comparison)
        except PitwallError as refusal:
            return _refusal(422, str(refusal))
        return JSONResponse(fields, headers={"cache-control": "no-store"})

    return Route(f"{base_path}/api/compare", answer, methods=["POST"])


def _refusal(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status)
