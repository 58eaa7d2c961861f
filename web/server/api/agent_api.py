"""`/api/agent`: what agents on other machines of a run ask and send; the access check has seen their token before."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from collectors.nodes.wire import MOST_BODY_BYTES, RefusedError
from service.agents import AgentIntake, BusyError, GoneError, Taken
from web.access.roles import TOKEN_KEY

BODY_S = 10.0
AT_ONCE = 8
_AGENT = re.compile(r"[0-9a-f]{32}")


class _UsageError(Exception):
    """What the agent must do otherwise, with the HTTP status that says so."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def agent_routes(intake: Callable[[], AgentIntake], base_path: str = "") -> list[Route]:
    """The routes: GET is a short round trip, POST has samples taken in."""
    busy = 0  # of the event loop's thread alone

    async def answered(request: Request, work: Callable[[bytes], Taken]) -> JSONResponse:
        nonlocal busy
        received_s = intake().now_s()
        try:
            if busy >= AT_ONCE:
                raise _UsageError(429, "Too many agents are being answered.")
            busy += 1
            try:
                taken = await run_in_threadpool(work, await _body(request))
            finally:
                busy -= 1
        except _UsageError as mistake:
            return JSONResponse({"error": str(mistake)}, mistake.status)
        except (RefusedError, BusyError, GoneError) as refusal:
            status = {RefusedError: 422, BusyError: 503, GoneError: 410}[type(refusal)]
            return JSONResponse({"error": str(refusal)}, status)
        times = {"received_s": received_s, "returned_s": intake().now_s()}
        said = {"number": taken.number, "is_over": taken.is_over, **times}
        return JSONResponse(said, headers={"cache-control": "no-store"})

    async def greet(request: Request) -> JSONResponse:
        return await answered(request, lambda _: intake().position(*_named(request)))

    async def take(request: Request) -> JSONResponse:
        return await answered(request, lambda body: intake().take(_named(request)[0], body))

    return [
        Route(f"{base_path}/api/agent", greet, methods=["GET"]),
        Route(f"{base_path}/api/agent/batches", take, methods=["POST"]),
    ]


def _named(request: Request) -> tuple[str, str]:
    """The token's run and the agent; a run that the address names must be that one."""
    run_id, agent_id = request.scope[TOKEN_KEY].run_id, request.query_params.get("agent", "")
    if request.query_params.get("run", run_id) != run_id:
        raise _UsageError(403, "This token is of another run.")
    if not _AGENT.fullmatch(agent_id):
        raise _UsageError(422, "agent is not what an agent calls itself.")
    return run_id, agent_id


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BODY_BYTES:
                    raise _UsageError(413, f"A message may have {MOST_BODY_BYTES >> 10} KiB.")
    except TimeoutError:
        raise _UsageError(408, f"The message was not whole within {BODY_S:g} s.") from None
    return body
