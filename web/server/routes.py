"""The doors beside Streamlit's own: health, the browser's files, the live push."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from web.live.hub import LiveHub
from web.server.assets import assets_route


def build_routes(
    hub: LiveHub,
    count_live_runs: Callable[[], int],
    version: str,
    base_path: str = "",
    is_well: Callable[[], bool] = lambda: True,
    health: Callable[[], Mapping[str, Any]] = dict,
) -> list[BaseRoute]:
    """The routes for `st.App(routes=...)`; `base_path` is Streamlit's server.baseUrlPath as '/pitwall' or ''.

    `/healthz` is open to all: 503 while something is wrong with the store or it is behind, with ages and sizes, but not
    what is wrong, for that names paths.
    """

    async def healthz(request: Request) -> JSONResponse:
        ok = is_well()
        body = {"ok": ok, "version": version, "runs_live": count_live_runs(), **health()}
        return JSONResponse(body, status_code=200 if ok else 503)

    async def runs(request: Request) -> RedirectResponse:
        """Streamlit serves its first page at the bare address alone."""
        return RedirectResponse(f"{base_path}/")

    return [
        Route(f"{base_path}/healthz", healthz),
        Route(f"{base_path}/runs", runs),
        assets_route(base_path),
        WebSocketRoute(f"{base_path}/ws/live", hub.serve),
    ]
