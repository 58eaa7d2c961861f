"""The `/api/agent` routes for agents on other machines of a run, whose token the access check has verified."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from collectors.agents.wire import MAX_BODY_BYTES, RefusedError
from service.agents import AgentIntake, BusyError, GoneError, IntakePosition
from web.access.roles import TOKEN_KEY

BODY_S = 10.0
MOST_AT_ONCE = 8
_AGENT = re.compile(r"[0-9a-f]{32}")


class _AgentRequestError(Exception):
    """A request that the agent must correct, with its HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def agent_routes(intake: Callable[[], AgentIntake], base_path: str = "") -> list[Route]:
    """Return the routes: GET is a short round trip that gives the agent its position, POST delivers samples."""
    busy = 0  # used only by the event loop's thread

    async def respond(request: Request, work: Callable[[bytes], IntakePosition]) -> JSONResponse:
        nonlocal busy
        received_s = intake().now_s()
        try:
            if busy >= MOST_AT_ONCE:
                raise _AgentRequestError(429, "Too many agents are being served.")
            busy += 1
            try:
                receipt = await run_in_threadpool(work, await _body(request))
            finally:
                busy -= 1
        except _AgentRequestError as mistake:
            return JSONResponse({"error": str(mistake)}, mistake.status)
        except (RefusedError, BusyError, GoneError) as refusal:
            status = {RefusedError: 422, BusyError: 503, GoneError: 410}[type(refusal)]
            return JSONResponse({"error": str(refusal)}, status)
        times = {"received_s": received_s, "returned_s": intake().now_s()}
        reply = {"number": receipt.number, "is_over": receipt.is_over, **times}
        return JSONResponse(reply, headers={"cache-control": "no-store"})

    async def greet(request: Request) -> JSONResponse:
        return await respond(request, lambda _: intake().position(*_run_and_agent(request)))

    async def take(request: Request) -> JSONResponse:
        return await respond(request, lambda body: intake().store_message(_run_and_agent(request)[0], body))

    return [
        Route(f"{base_path}/api/agent", greet, methods=["GET"]),
        Route(f"{base_path}/api/agent/batches", take, methods=["POST"]),
    ]


def _run_and_agent(request: Request) -> tuple[str, str]:
    """Return the token's run and the agent; raises _AgentRequestError if the address names another run."""
    run_id, agent_id = request.scope[TOKEN_KEY].run_id, request.query_params.get("agent", "")
    if request.query_params.get("run", run_id) != run_id:
        raise _AgentRequestError(403, "This token belongs to another run.")
    if not _AGENT.fullmatch(agent_id):
        raise _AgentRequestError(422, "agent is not a valid agent id.")
    return run_id, agent_id


async def _body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise _AgentRequestError(413, f"A message may have at most {MAX_BODY_BYTES >> 10} KiB.")
    except TimeoutError:
        raise _AgentRequestError(408, f"The message was incomplete after {BODY_S:g} s.") from None
    return body
