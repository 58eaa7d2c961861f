"""The routes in addition to Streamlit's own: health, static files, the live push."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from web.access.signin_page import SIGN_IN, signin_page
from web.assets import assets_route
from web.live.hub import LiveHub
from web.page_paths import ANSWER, PATHS, REPORT, SERIES

STREAMLIT_ROUTES = ("static", "media", "component", "app", "auth", "oauth2callback")


class UnknownPath(Convertor[str]):
    """A path at which Streamlit would show its first page; its own files have dots, and its routes begin with '_'."""

    pages, reserved = "|".join(PATHS), "|".join((*STREAMLIT_ROUTES, REPORT, SERIES, ANSWER, SIGN_IN, "api", "metrics"))
    regex = (
        rf"(?!(?:{pages})/?$)(?!(?:(?:{pages})/)?(?:{reserved})(?:/|$))"
        r"[^/._][^/.]*(?:/[^/._][^/.]*)*/?"
    )

    def convert(self, value: str) -> str:
        """Return the path unchanged: the route only has to match it."""
        return value

    def to_string(self, value: str) -> str:
        """Return the path unchanged; Starlette requires the inverse."""
        return value


register_url_convertor("no_page", UnknownPath())


def build_routes(
    hub: LiveHub,
    count_live_runs: Callable[[], int],
    version: str,
    base_path: str = "",
    is_healthy: Callable[[], bool] = lambda: True,
    health: Callable[[], Mapping[str, Any]] = dict,
) -> list[BaseRoute]:
    """Return the routes for `st.App(routes=...)`; `base_path` is Streamlit's server.baseUrlPath as '/pitwall' or ''.

    `/healthz` is open to everyone: it returns 503 while the store has a problem or lags behind, with ages and sizes,
    but without the problem itself, whose text contains paths.
    """

    async def healthz(request: Request) -> JSONResponse:
        ok = is_healthy()
        body = {"ok": ok, "version": version, "runs_live": count_live_runs(), **health()}
        return JSONResponse(body, status_code=200 if ok else 503)

    async def runs(request: Request) -> RedirectResponse:
        """Redirect to the bare address with the query: only there does Streamlit serve its first page."""
        return RedirectResponse(f"{base_path}/{'?' * bool(request.url.query)}{request.url.query}")

    async def no_page(request: Request) -> HTMLResponse:
        text = "Pitwall has no page at this address. It may be incomplete or mistyped."
        return HTMLResponse(signin_page("No such page", text, form=None, home=f"{base_path}/"), status_code=404)

    return [
        Route(f"{base_path}/healthz", healthz),
        Route(f"{base_path}/runs", runs),
        assets_route(base_path),
        WebSocketRoute(f"{base_path}/ws/live", hub.serve),
        Route(f"{base_path}/{{path:no_page}}", no_page),  # the last: it matches every other path
    ]
