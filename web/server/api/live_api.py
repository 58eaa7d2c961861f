"""The `/api/live` routes: Live's push for programs, whose token the access check has verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from domain import Run
from web.live.hub import LiveHub


def live_routes(hub: LiveHub, live_runs: Callable[[], Sequence[Run]], base_path: str = "") -> list[BaseRoute]:
    """Return the routes: GET lists the live runs, the WebSocket pushes the requested ones as web.live.protocol says."""

    async def runs(request: Request) -> JSONResponse:
        rows = [
            {"id": run.id, "name": run.name, "state": run.state, "kind": run.kind}
            for run in await run_in_threadpool(live_runs)
        ]
        return JSONResponse({"runs": rows}, headers={"cache-control": "no-store"})

    return [Route(f"{base_path}/api/live", runs), WebSocketRoute(f"{base_path}/api/live", hub.serve)]
