"""The doors beside Streamlit's own: health, the browser's files, the live push."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from web.assets import assets_route
from web.live import LiveHub


def build_routes(
    hub: LiveHub, count_live_runs: Callable[[], int], version: str, base_path: str = ""
) -> list[BaseRoute]:
    """The routes for `st.App(routes=...)`; `base_path` is Streamlit's server.baseUrlPath as '/pitwall' or ''."""

    async def healthz(request: Request) -> JSONResponse:
        return JSONResponse({"ok": True, "version": version, "runs_live": count_live_runs()})

    return [
        Route(f"{base_path}/healthz", healthz),
        assets_route(base_path),
        WebSocketRoute(f"{base_path}/ws/live", hub.serve),
    ]
