"""`/api/live`: what the Live page is pushed, for programs; the access check has seen that their token may read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from domain import Run
from web.live.hub import LiveHub


def live_routes(hub: LiveHub, live_runs: Callable[[], Sequence[Run]], base_path: str = "") -> list[BaseRoute]:
    """GET names the runs that are live; the WebSocket pushes some of them as web.live.protocol says."""

    async def runs(request: Request) -> JSONResponse:
        found = [
            {"id": run.id, "name": run.name, "state": run.state, "kind": run.kind}
            for run in await run_in_threadpool(live_runs)
        ]
        return JSONResponse({"runs": found}, headers={"cache-control": "no-store"})

    return [Route(f"{base_path}/api/live", runs), WebSocketRoute(f"{base_path}/api/live", hub.serve)]
